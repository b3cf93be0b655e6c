// Commands that need the compiler run the program mopt-compiler beside this one: `mopt` itself stays small and starts fast.
#include "Common.h"
#include <cerrno>
#include <climits>
#include <cstring>
#include <unistd.h>

namespace mopt::tool {

void runCompiler(int argc, char **argv) {
  char self[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0)
    throw Failure(InternalFault, "MOPT-T020: cannot find this program in /proc/self/exe: is /proc mounted?");
  self[n] = 0;
  std::string program(self);
  program.resize(program.rfind('/') + 1);
  program += "mopt-compiler";
  std::vector<char *> arguments(argv, argv + argc);
  arguments[0] = program.data();
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  throw Failure(InternalFault, "MOPT-T021: this command needs the compiler, but '" + program + "' cannot be started: " +
                                   std::strerror(errno) + "; install or build mopt-compiler beside mopt");
}

} // namespace mopt::tool
