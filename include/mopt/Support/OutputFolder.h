//===- OutputFolder.h - folders that appear whole or not at all ---------------------------------------------------===//
#ifndef MOPT_SUPPORT_OUTPUTFOLDER_H
#define MOPT_SUPPORT_OUTPUTFOLDER_H

#include <string>
#include <vector>

namespace mopt {

/// A folder that has its name only after commit(): before, readers see the old folder or none. Files are written into
/// `place()`, a folder beside it. An old folder is replaced only if it holds nothing but files of the names given: it is then
/// one of ours. What is left of a process that is killed is a folder `NAME.partial-...`.
class OutputFolder {
public:
  enum class Fault { none, place, taken, other };

  OutputFolder(const std::string &path, std::vector<std::string> files);
  ~OutputFolder();
  OutputFolder(const OutputFolder &) = delete;
  OutputFolder &operator=(const OutputFolder &) = delete;

  const std::string &place() const { return temporary; }
  bool ok() const { return failure == Fault::none; }
  /// Gives the folder its name, in one step: the old folder, if there is one, goes at the same moment.
  bool commit();
  Fault fault() const { return failure; }
  const std::string &error() const { return message; }

private:
  bool fail(Fault fault, const std::string &what);
  bool isOurs() const;
  void removeAll(const std::string &folder) const;

  std::string path, temporary, message;
  std::vector<std::string> files;
  Fault failure = Fault::none;
};

} // namespace mopt
#endif
