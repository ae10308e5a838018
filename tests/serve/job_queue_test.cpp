#include "serve/job_queue.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "temporary_folder.h"

namespace mdsm::serve {
namespace {

Job waiting(const std::string& id) {
  Job job;
  job.id = id, job.command = "sample", job.lane = "native", job.words = {"--no-such-command"};
  return job;
}

void put(const fs::path& folder, Job job) {
  make_folder(folder / job.id);
  write_file(folder / job.id / "job.json", json_text(to_json(job)));
}

std::string added(JobQueue& queue) {
  const auto job = queue.add([](const fs::path& place) { return waiting(place.filename().string()); });
  return job ? job->id : "none";
}

std::vector<std::string> ids(const JobQueue& queue) {
  std::vector<std::string> found;
  for (const Job& job : queue.all()) found.push_back(job.id);
  return found;
}

TEST(JobQueue, CountsOnBeyondItsZeros) {
  const TemporaryFolder folder;
  for (const char* id : {"999998", "999999"}) put(folder.path(), waiting(id));
  JobQueue queue(folder.path(), {});
  EXPECT_EQ(added(queue), "1000000");
  EXPECT_EQ(ids(queue), (std::vector<std::string>{"1000000", "999999", "999998"}));
}

TEST(JobQueue, ForgetsTheOldestThatAreOver) {
  const TemporaryFolder folder;
  JobQueue queue(folder.path(), {.waiting = 2, .kept = 1});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.cancel(added(queue)));
  EXPECT_EQ(ids(queue), (std::vector<std::string>{"000003", "000002"}));
  EXPECT_FALSE(fs::exists(folder / "000001"));
  EXPECT_EQ(added(queue), "000004");
  EXPECT_EQ(added(queue), "000005");
  EXPECT_EQ(added(queue), "none");
  EXPECT_FALSE(fs::exists(folder / "000006"));
}

TEST(JobQueue, ClearsWhatWasNeverTold) {
  const TemporaryFolder folder;
  make_folder(folder / "000007");
  write_file(folder / "000007" / "picture-1.png", std::string_view("x"));
  put(folder.path(), waiting("000003"));
  JobQueue queue(folder.path(), {});
  EXPECT_FALSE(fs::exists(folder / "000007"));
  EXPECT_EQ(ids(queue), (std::vector<std::string>{"000003"}));
  EXPECT_EQ(added(queue), "000008");
}

// A disk that takes nothing any more ends the job, not the server.
TEST(JobQueue, LivesOnWhereAJobCannotBeKept) {
  const TemporaryFolder folder;
  put(folder.path(), waiting("000001"));
  JobQueue queue(folder.path(), {});
  fs::remove_all(folder / "000001");
  queue.start();
  for (int i = 0; i < 1000 && !queue.find("000001")->over(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(queue.find("000001")->state, JobState::failed);
  EXPECT_NE(queue.find("000001")->error, "");
}

}  // namespace
}  // namespace mdsm::serve
