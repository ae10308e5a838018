#include "serve/job.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json.h"

namespace mdsm::serve {
namespace {

Job example() {
  Job job;
  job.id = "000007";
  job.command = "sample";
  job.lane = "native";
  job.words = {"sample", "--model=fashion-mnist", "--sigma-max=0.5", "--desc=it's a; $(test)", "--json"};
  job.options = {{"model", "fashion-mnist"}};
  job.state = JobState::running;
  job.created = 12.5;
  return job;
}

TEST(Job, IsReadBackAsItWasWritten) {
  const std::string text = json_text(to_json(example()));
  EXPECT_EQ(json_text(to_json(job_from_json(text, "test"))), text);
  for (const char* bad : {"", "{}", "[]", R"({"id":1})"})
    EXPECT_THROW(job_from_json(bad, "test"), Error) << bad;
}

TEST(Job, SaysTheSameForAShellAndForPython) {
  EXPECT_EQ(command_line(example()),
            R"(mdsm sample --model=fashion-mnist --sigma-max=0.5 '--desc=it'\''s a; $(test)')");
  EXPECT_EQ(python_call(example()),
            R"py(mdsm.run("sample", model="fashion-mnist", sigma_max=0.5, desc="it's a; $(test)"))py");
}

}  // namespace
}  // namespace mdsm::serve
