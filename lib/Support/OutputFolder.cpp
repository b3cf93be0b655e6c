//===- OutputFolder.cpp - folders that appear whole or not at all -------------------------------------------------===//
#include "mopt/Support/OutputFolder.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace mopt {

OutputFolder::OutputFolder(const std::string &given, std::vector<std::string> names) : path(given), files(std::move(names)) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  struct stat info;
  if (::lstat(path.c_str(), &info) == 0 && (!S_ISDIR(info.st_mode) || !isOurs())) {
    fail(Fault::taken, S_ISDIR(info.st_mode) ? "it is a folder that holds other files" : "it is no folder");
    return;
  }
  temporary = path + ".partial-XXXXXX";
  if (!::mkdtemp(temporary.data())) {
    fail(Fault::place, std::strerror(errno));
    temporary.clear();
    return;
  }
  // mkdtemp leaves the folder to the user alone; what others may do follows from the umask, as for files.
  mode_t mask = ::umask(0);
  ::umask(mask);
  ::chmod(temporary.c_str(), 0777 & ~mask);
}

OutputFolder::~OutputFolder() {
  if (!temporary.empty())
    removeAll(temporary);
}

bool OutputFolder::fail(Fault fault, const std::string &what) {
  if (ok()) {
    failure = fault;
    message = "writing folder '" + path + "' failed: " + what;
  }
  return false;
}

bool OutputFolder::isOurs() const {
  DIR *folder = ::opendir(path.c_str());
  if (!folder)
    return false;
  bool ours = true;
  while (const dirent *entry = ::readdir(folder)) {
    std::string name = entry->d_name;
    ours &= name == "." || name == ".." || std::find(files.begin(), files.end(), name) != files.end();
  }
  ::closedir(folder);
  return ours;
}

void OutputFolder::removeAll(const std::string &folder) const {
  for (const std::string &file : files)
    ::unlink((folder + "/" + file).c_str());
  ::rmdir(folder.c_str());
}

bool OutputFolder::commit() {
  if (!ok())
    return false;
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
    temporary.clear();
    return true;
  }
  if (errno != EEXIST)
    return fail(errno == EACCES || errno == ENOENT || errno == EROFS ? Fault::place : Fault::other, std::strerror(errno));
  if (!isOurs())
    return fail(Fault::taken, "it is a folder that holds other files");
  // The names change places: the destructor then removes the old one.
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) != 0)
    return fail(Fault::other, std::strerror(errno));
  return true;
}

} // namespace mopt
