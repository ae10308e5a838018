// What launchers say, each in its own variables.
#include "distributed/launcher.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"

namespace mdsm::distributed {
namespace {

using Variables = std::map<std::string, std::string>;

Launch launch(const Variables& variables) {
  return read_launch([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refused(const Variables& variables) {
  try {
    launch(variables);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "accepted";
}

TEST(Launcher, WithoutOneThereIsOneProcess) {
  EXPECT_EQ(launch({}).size, 1);
  EXPECT_EQ(launch({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).size, 1);
  EXPECT_EQ(launch({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).size, 1) << "a batch script";
}

TEST(Launcher, Torchrun) {
  const Launch found = launch({{"RANK", "3"},
                               {"WORLD_SIZE", "4"},
                               {"LOCAL_RANK", "1"},
                               {"MASTER_ADDR", "node1"},
                               {"MASTER_PORT", "1234"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                               {"TORCHELASTIC_RESTART_COUNT", "2"},
                               {"TORCHELASTIC_RUN_ID", "job"},
                               {"SLURM_PROCID", "0"},
                               {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(found.rank, 3);
  EXPECT_EQ(found.size, 4);
  EXPECT_EQ(found.local_rank, 1);
  EXPECT_EQ(found.host, "node1");
  EXPECT_EQ(found.port, 1234);
  EXPECT_TRUE(found.store_is_there);
  EXPECT_EQ(found.prefix, "mdsm/attempt_2/");
  EXPECT_NE(found.job, "");
}

TEST(Launcher, Mpirun) {
  Variables variables = {{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_EQ(launch(variables).rank, 1);
  EXPECT_EQ(launch(variables).host, "127.0.0.1");
  EXPECT_EQ(launch(variables).port, 29500);
  EXPECT_EQ(launch(variables).job, "");
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  EXPECT_NE(refused(variables).find("MASTER_ADDR is not set"), std::string::npos);
  variables["MASTER_ADDR"] = "a";
  EXPECT_EQ(launch(variables).host, "a");
}

TEST(Launcher, Srun) {
  Variables variables = {{"SLURM_PROCID", "5"},
                         {"SLURM_STEP_NUM_TASKS", "8"},
                         {"SLURM_LOCALID", "1"},
                         {"SLURM_JOB_ID", "123456"},
                         {"SLURM_STEP_NODELIST", "node[003-006],x"}};
  EXPECT_EQ(launch(variables).rank, 5);
  EXPECT_EQ(launch(variables).size, 8);
  EXPECT_EQ(launch(variables).host, "node003");
  EXPECT_EQ(launch(variables).port, 23456);
  for (const auto& [list, first] :
       Variables{{"a,b", "a"}, {"alone", "alone"}, {"n[7,9]", "n7"}, {"m[12]", "m12"}}) {
    variables["SLURM_STEP_NODELIST"] = list;
    EXPECT_EQ(launch(variables).host, first);
  }
}

TEST(Launcher, RefusesWhatMakesNoSense) {
  const Variables good = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}};
  EXPECT_EQ(launch(good).size, 2);
  const auto with = [&](const char* name, const char* value) {
    Variables bad = good;
    bad[name] = value;
    return refused(bad);
  };
  for (const char* value : {"2", "-1", "x", "1x", "99999999999"})
    EXPECT_NE(with("RANK", value).find(fmt::format("RANK='{}'", value)), std::string::npos);
  for (const char* value : {"0", "many"})
    EXPECT_NE(with("WORLD_SIZE", value).find("WORLD_SIZE"), std::string::npos);
  for (const char* value : {"0", "65536", "http"})
    EXPECT_NE(with("MASTER_PORT", value).find("MASTER_PORT"), std::string::npos);
  EXPECT_NE(with("MASTER_ADDR", "").find("MASTER_ADDR"), std::string::npos);
  EXPECT_NE(with("MDSM_PEER_TIMEOUT", "soon").find("MDSM_PEER_TIMEOUT"), std::string::npos);
  EXPECT_NE(refused({{"RANK", "1"}}).find("WORLD_SIZE is not set"), std::string::npos);
  EXPECT_NE(refused({{"WORLD_SIZE", "2"}}).find("RANK is not set"), std::string::npos);
}

}  // namespace
}  // namespace mdsm::distributed
