//===- OutputFolderTest.cpp - folders that appear whole or not at all ---------------------------------------------===//
#include "mopt/Support/OutputFolder.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

using mopt::OutputFolder;
namespace fs = std::filesystem;

namespace {

class OutputFolderTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mopt-folder-XXXXXX").string();
    ASSERT_TRUE(mkdtemp(name.data()));
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string at(const std::string &name) const { return (folder / name).string(); }
  size_t entries() const { return std::distance(fs::directory_iterator(folder), {}); }
  static void put(const std::string &path, const std::string &text) { std::ofstream(path) << text; }
  static std::string read(const std::string &path) {
    std::ifstream in(path);
    return std::string((std::istreambuf_iterator<char>(in)), {});
  }
  fs::path folder;
};

TEST_F(OutputFolderTest, HasItsNameOnlyAfterCommit) {
  OutputFolder out(at("a/"), {"x", "y"});
  ASSERT_TRUE(out.ok()) << out.error();
  put(out.place() + "/x", "one");
  EXPECT_FALSE(fs::exists(at("a")));
  EXPECT_TRUE(out.commit()) << out.error();
  EXPECT_EQ("one", read(at("a/x")));
  EXPECT_EQ(1u, entries());
}

TEST_F(OutputFolderTest, LeavesNothingWithoutCommit) {
  {
    OutputFolder out(at("a"), {"x"});
    put(out.place() + "/x", "one");
  }
  EXPECT_EQ(0u, entries());
}

TEST_F(OutputFolderTest, ReplacesAnOldOneWhole) {
  fs::create_directory(at("a"));
  put(at("a/x"), "old");
  put(at("a/y"), "old");
  {
    OutputFolder out(at("a"), {"x", "y"});
    put(out.place() + "/x", "new");
    EXPECT_EQ("old", read(at("a/x")));
    EXPECT_TRUE(out.commit()) << out.error();
  }
  EXPECT_EQ("new", read(at("a/x")));
  EXPECT_FALSE(fs::exists(at("a/y"))); // not a mixture
  EXPECT_EQ(1u, entries());
}

TEST_F(OutputFolderTest, KeepsWhatIsNotOurs) {
  fs::create_directory(at("a"));
  put(at("a/mine"), "mine");
  EXPECT_EQ(OutputFolder::Fault::taken, OutputFolder(at("a"), {"x"}).fault());
  put(at("b"), "mine");
  EXPECT_EQ(OutputFolder::Fault::taken, OutputFolder(at("b"), {"b"}).fault());
  fs::create_directory_symlink(at("a"), at("c"));
  EXPECT_EQ(OutputFolder::Fault::taken, OutputFolder(at("c"), {"mine"}).fault());
  EXPECT_EQ(OutputFolder::Fault::place, OutputFolder(at("absent/a"), {"x"}).fault());
  EXPECT_EQ("mine", read(at("a/mine")));
  EXPECT_EQ("mine", read(at("b")));
  EXPECT_EQ(3u, entries());
}

TEST_F(OutputFolderTest, KeepsWhatCameInTheMeantime) {
  OutputFolder out(at("a"), {"x"});
  ASSERT_TRUE(out.ok());
  fs::create_directory(at("a"));
  put(at("a/mine"), "mine");
  EXPECT_FALSE(out.commit());
  EXPECT_EQ(OutputFolder::Fault::taken, out.fault());
  EXPECT_EQ("mine", read(at("a/mine")));
}

} // namespace
