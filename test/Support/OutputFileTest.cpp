//===- OutputFileTest.cpp - files that appear whole or not at all -------------------------------------------------===//
#include "mopt/Support/OutputFile.h"
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using mopt::OutputFile;
namespace fs = std::filesystem;

namespace {

class OutputFileTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mopt-output-XXXXXX").string();
    ASSERT_TRUE(mkdtemp(name.data()));
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string at(const std::string &name) const { return (folder / name).string(); }
  size_t files() const { return std::distance(fs::directory_iterator(folder), {}); }
  static std::string read(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), {});
  }
  static void put(const std::string &path, const char *text) { std::ofstream(path) << text; }
  fs::path folder;
};

TEST_F(OutputFileTest, HasItsNameOnlyAfterCommit) {
  OutputFile file(at("a"));
  EXPECT_TRUE(file.write("one ", 4) && file.write("two", 3));
  EXPECT_EQ(7u, file.position());
  EXPECT_FALSE(fs::exists(at("a")));
  EXPECT_TRUE(file.commit());
  EXPECT_EQ("one two", read(at("a")));
  EXPECT_EQ(1u, files());
}

TEST_F(OutputFileTest, ReplacesTheOldFileAndKeepsItUntilThen) {
  put(at("a"), "old");
  {
    OutputFile dropped(at("a"));
    EXPECT_TRUE(dropped.write("never", 5));
  }
  EXPECT_EQ("old", read(at("a")));
  OutputFile file(at("a"));
  EXPECT_TRUE(file.write("new", 3));
  EXPECT_EQ("old", read(at("a")));
  EXPECT_TRUE(file.commit());
  EXPECT_EQ("new", read(at("a")));
  EXPECT_EQ(1u, files());
}

TEST_F(OutputFileTest, WritesThroughALink) {
  put(at("target"), "old");
  fs::create_symlink("target", at("link"));
  OutputFile file(at("link"));
  EXPECT_TRUE(file.write("new", 3) && file.commit());
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ("new", read(at("target")));
}

TEST_F(OutputFileTest, HasThePermissionsAskedForLessTheUmask) {
  mode_t before = umask(027);
  OutputFile file(at("a"), 0666);
  EXPECT_TRUE(file.commit());
  umask(before);
  struct stat st;
  ASSERT_EQ(0, stat(at("a").c_str(), &st));
  EXPECT_EQ(0640u, st.st_mode & 0777);
}

TEST_F(OutputFileTest, SaysWhatIsWrongWithAPlace) {
  auto fault = [](const std::string &path) {
    OutputFile file(path);
    EXPECT_FALSE(file.write("x", 1));
    EXPECT_FALSE(file.commit());
    EXPECT_NE("", file.reason()) << path;
    return file.fault();
  };
  EXPECT_EQ(OutputFile::Fault::place, fault(at("absent/a")));
  EXPECT_EQ(OutputFile::Fault::place, fault(""));
  EXPECT_EQ(OutputFile::Fault::place, fault(at("a/")));
  EXPECT_EQ(OutputFile::Fault::place, fault(at(std::string(300, 'a'))));
  EXPECT_EQ(OutputFile::Fault::place, fault(at(std::string("a\0b", 3))));
  EXPECT_EQ(OutputFile::Fault::notRegular, fault(folder.string()));
  EXPECT_EQ(OutputFile::Fault::notRegular, fault("/dev/null"));
  EXPECT_EQ(0u, files());
}

TEST_F(OutputFileTest, KeepsTheFirstError) {
  rlimit before, small{4096, 0};
  getrlimit(RLIMIT_FSIZE, &before);
  small.rlim_max = before.rlim_max;
  signal(SIGXFSZ, SIG_IGN);
  put(at("a"), "old");
  OutputFile file(at("a"));
  std::string bytes(8192, 'x');
  setrlimit(RLIMIT_FSIZE, &small);
  bool wrote = file.write(bytes.data(), bytes.size());
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(wrote);
  EXPECT_EQ("writing '" + fs::canonical(folder).string() + "/a' failed: File too large", file.error());
  EXPECT_FALSE(file.write("more", 4));
  EXPECT_FALSE(file.commit());
  EXPECT_EQ(OutputFile::Fault::other, file.fault());
  EXPECT_EQ("old", read(at("a")));
}

// SIGKILL cannot be handled, so this shows that there is nothing to clean up.
TEST_F(OutputFileTest, LeavesNothingWhenTheProcessIsKilled) {
  pid_t child = fork();
  if (child == 0) {
    OutputFile file(at("a"));
    file.write("part", 4);
    kill(getpid(), SIGKILL);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  int probe = open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (probe < 0)
    GTEST_SKIP() << "this file system has no files without names";
  close(probe);
  EXPECT_EQ(0u, files());
}

TEST_F(OutputFileTest, WritesToADescriptorOfTheCaller) {
  int fd = mopt::openUnnamedFile();
  ASSERT_GE(fd, 0);
  {
    OutputFile file("the model", 0644, fd);
    EXPECT_TRUE(file.write("bytes", 5) && file.commit());
  }
  char text[6] = {};
  EXPECT_EQ(5, pread(fd, text, 5, 0));
  EXPECT_STREQ("bytes", text);
  struct stat st;
  ASSERT_EQ(0, fstat(fd, &st));
  EXPECT_EQ(0u, st.st_nlink);
  close(fd);
}

} // namespace
