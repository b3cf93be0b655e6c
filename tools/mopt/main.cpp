// mopt: run, measure and inspect compiled models; other commands are the compiler's.
// Exit status: 0 right, 1 internal fault, 2 the input is at fault, 3 a stated goal was not met.
#include "CLI/CLI.hpp"
#include "Common.h"
#include <cstdio>
#include <cstring>
#include <new>
#include <sys/stat.h>

using namespace mopt::tool;

static const char *const compilerCommands[][2] = {
    {"import", "Read an ONNX model into mopt's IR:        mopt import model.onnx -o model.mlir"},
    {"compile", "Make an artifact:                         mopt compile model.onnx -o model.so"},
    {"explain", "Say what became of each op, and why:     mopt explain model.onnx --shape x=1x3x224x224"},
    {"export", "Write mopt's IR as ONNX:                  mopt export model.mlir -o model.onnx"},
    {"verify", "Compare every pass with the model before: mopt verify model.onnx --inputs in.npz"}};

// Whether `inspect` of this file needs the compiler. An artifact does not, nor does what is nothing at all: the runtime says
// what is wrong with it, also where no compiler is installed.
static bool isModel(const std::string &path) {
  auto endsWith = [&](const char *ending) {
    std::size_t n = std::strlen(ending);
    return path.size() > n && path.compare(path.size() - n, n, ending) == 0;
  };
  struct stat info;
  char start[4] = {};
  if (stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) { // reading a FIFO might wait for ever
    if (std::FILE *file = std::fopen(path.c_str(), "rb")) {
      std::size_t n = std::fread(start, 1, sizeof start, file);
      std::fclose(file);
      if (n == sizeof start && std::memcmp(start, "\177ELF", 4) == 0)
        return false;
    }
  }
  // The first field of an ONNX model, MLIR as bytecode and as text.
  return endsWith(".onnx") || endsWith(".mlir") || endsWith(".mlirbc") ||
         (start[0] && std::strchr("\bM#!mfb\"{/", start[0]) != nullptr);
}

// The compiler's words are its own: whatever is not ours goes there unparsed. `inspect` is ours for artifacts only.
static bool isForCompiler(int argc, char **argv) {
  if (argc < 2)
    return false;
  const char *ours[] = {"run", "bench"};
  if (argv[1][0] == '-' || std::strcmp(argv[1], "help") == 0)
    return false;
  for (const char *word : ours)
    if (std::strcmp(argv[1], word) == 0)
      return false;
  if (std::strcmp(argv[1], "inspect") == 0) {
    for (int i = 2; i < argc; ++i) {
      std::string word = argv[i];
      if (word == "--shape" || word == "--sessions")
        ++i; // the next word is a value
      else if (word[0] != '-' && isModel(word))
        return true;
    }
    return false;
  }
  for (auto &command : compilerCommands)
    if (std::strcmp(argv[1], command[0]) == 0)
      return true;
  return false;
}

static void checkCommand(int argc, char **argv) {
  static const char *const known[] = {"run", "bench", "inspect", "help"};
  if (argc < 2 || argv[1][0] == '-')
    return;
  for (const char *word : known)
    if (std::strcmp(argv[1], word) == 0)
      return;
  throw Failure(InputFault,
                "MOPT-T000: there is no command '" + printable(argv[1], 60) +
                    "'; commands are run, bench, inspect, import, compile, explain, export, verify (mopt --help)");
}

int main(int argc, char **argv) {
  try {
    if (isForCompiler(argc, argv))
      runCompiler(argc, argv);
    checkCommand(argc, argv);
    CLI::App app("mopt runs, measures and inspects compiled models, and starts the compiler.", "mopt");
    app.set_version_flag("--version", mopt_version());
    app.require_subcommand(1);
    addRun(app);
    addBench(app);
    addInspect(app);
    std::string footer = "Commands of the compiler (mopt COMMAND --help):\n";
    for (auto &command : compilerCommands)
      footer += "  " + std::string(command[0]) + std::string(28 - std::strlen(command[0]), ' ') + command[1] + "\n";
    footer += "Exit status: 0 right, 1 internal fault, 2 the input is at fault, 3 a stated goal was not met.\n"
              "Example: mopt bench model.so --shape x=1x3x224x224 --threads 2 --profile";
    app.footer(footer);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError &e) {
      if (e.get_exit_code() == 0)
        return app.exit(e);
      std::fprintf(stderr, "error MOPT-T000: %s (mopt %s --help shows how)\n", printable(e.what(), 300).c_str(),
                   app.get_subcommands().empty() ? "" : app.get_subcommands().front()->get_name().c_str());
      return InputFault;
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
      std::fprintf(stderr, "error MOPT-T007: cannot write the result to the standard output\n");
      return InputFault;
    }
    return Right;
  } catch (const Failure &f) {
    std::fflush(stdout);
    std::fprintf(stderr, "error %s\n", f.what());
    return f.status;
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "error MOPT-T001: out of memory\n");
    return InputFault;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "error MOPT-T100: %s (internal fault, please report)\n", e.what());
    return InternalFault;
  }
}
