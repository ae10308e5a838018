#include "core/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "core/error.h"

namespace mdsm {
namespace {

// While it lives, no file may grow beyond `bytes`: writes fail as on a full disk. Works for root, too.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_{};
  void (*handler_)(int);
};

class Files : public ::testing::Test {
 protected:
  Files() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / fmt::format("mdsm_files_{}_{}", test->name(), ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Files() override { fs::remove_all(folder_); }

  size_t file_count() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  template <class Body>
  static std::string error_of(Body&& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    ADD_FAILURE() << "no error was thrown";
    return "";
  }
  static bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

  fs::path folder_;
};

TEST_F(Files, TextAndBytesComeBack) {
  const std::string text("a\0b\n\xff", 5);
  write_file(folder_ / "x", text);
  EXPECT_EQ(read_text(folder_ / "x"), text);
  EXPECT_EQ(read_bytes(folder_ / "x").size(), 5u);
  write_file(folder_ / "x", "");
  EXPECT_EQ(read_text(folder_ / "x"), "");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(Files, NothingAppearsBeforeCommit) {
  write_file(folder_ / "x", "old");
  {
    AtomicFile file(folder_ / "x");
    file.write("new");
    EXPECT_EQ(read_text(folder_ / "x"), "old");
  }
  EXPECT_EQ(read_text(folder_ / "x"), "old");
  EXPECT_EQ(file_count(), 1u);
  AtomicFile file(folder_ / "x");
  file.write("new");
  file.commit();
  EXPECT_EQ(read_text(folder_ / "x"), "new");
}

TEST_F(Files, FailedWriteLeavesTheOldFile) {
  write_file(folder_ / "x", "old");
  const std::string large(100'000, 'x');
  {
    const FileSizeLimit limit(4096);
    const std::string error = error_of([&] { write_file(folder_ / "x", large); });
    EXPECT_TRUE(has(error, "writing failed") && has(error, "the previous file is untouched")) << error;
  }
  EXPECT_EQ(read_text(folder_ / "x"), "old");
  EXPECT_EQ(file_count(), 1u);
  write_file(folder_ / "x", large);  // and works again afterwards
  EXPECT_EQ(read_text(folder_ / "x"), large);
}

TEST_F(Files, KilledWriterLeavesTheOldFile) {
  write_file(folder_ / "x", "old");
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(folder_ / "x");
    file.write(std::string(50'000, 'n'));
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_text(folder_ / "x"), "old");
}

TEST_F(Files, UnwritablePlacesAreNamed) {
  write_file(folder_ / "file", "x");
  for (const fs::path& path : {folder_ / "missing" / "x", folder_ / "file" / "x", fs::path("/proc/mdsm_test"),
                               folder_ / std::string(300, 'n')}) {
    const std::string error = error_of([&] { write_file(path, "x"); });
    EXPECT_TRUE(has(error, path.c_str()) && has(error, "cannot be written")) << error;
  }
  EXPECT_TRUE(has(error_of([&] { write_file(folder_, "x"); }), "is a folder"));
}

TEST_F(Files, DevicesAndPipesAreNeitherReadNorReplaced) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(has(error_of([&] { read_text(pipe); }), "not a regular file"));
  EXPECT_TRUE(has(error_of([&] { write_file(pipe, "x"); }), "will not be replaced"));
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(has(error_of([] { read_bytes("/dev/zero"); }), "not a regular file"));
}

TEST_F(Files, ReadingWhatIsNotThere) {
  EXPECT_TRUE(has(error_of([&] { read_text(folder_ / "no"); }), "no such file"));
  EXPECT_TRUE(has(error_of([&] { read_bytes(folder_); }), "is a folder"));
  EXPECT_TRUE(has(error_of([&] { read_text(folder_ / std::string(300, 'n')); }), "no such file"));
}

TEST_F(Files, MakeFolder) {
  make_folder(folder_ / "a" / "b");
  EXPECT_TRUE(fs::is_directory(folder_ / "a" / "b"));
  make_folder(folder_ / "a" / "b");
  write_file(folder_ / "file", "x");
  for (const fs::path& path : {folder_ / "file", folder_ / "file" / "b", fs::path("/proc/mdsm/x")})
    EXPECT_TRUE(has(error_of([&] { make_folder(path); }), "cannot create the folder")) << path;
}

}  // namespace
}  // namespace mdsm
