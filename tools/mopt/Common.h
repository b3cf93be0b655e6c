// What the subcommands of `mopt` share: failures with an exit status, owners of runtime objects, shapes on the command line.
#pragma once
#include "mopt/Runtime/mopt.h"
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace mopt::tool {

// Exit status of every mopt command.
enum Status { Right = 0, InternalFault = 1, InputFault = 2, GoalMissed = 3 };

// One line for stderr ("MOPT-T003: ...") and the exit status it means.
struct Failure : std::runtime_error {
  Failure(int status, const std::string &message) : std::runtime_error(message), status(status) {}
  int status;
};
[[noreturn]] void failInput(const std::string &message);

// Turns a runtime code into a Failure.
void check(mopt_code code, const mopt_error &error);

struct Free {
  void operator()(mopt_model *m) const { mopt_model_free(m); }
  void operator()(mopt_session *s) const { mopt_session_free(s); }
  void operator()(mopt_pool *p) const { mopt_pool_free(p); }
};
using Model = std::unique_ptr<mopt_model, Free>;
using Session = std::unique_ptr<mopt_session, Free>;
using Pool = std::unique_ptr<mopt_pool, Free>;

Model loadModel(const std::string &path);
Model describeModel(const std::string &path); // without its code, also one for another machine
void verifyWeights(const mopt_model *model);  // reads them all
Pool makePool(int threads);                   // 0: as many as processors
Session makeSession(mopt_model *model, mopt_pool *pool, bool profile = false);
// Every step that has a variant of this name runs it from now on; fails where no step has one. Empty: the defaults.
void chooseVariant(mopt_session *session, const mopt_model *model, const std::string &name);

// Memory with the alignment that spares the runtime a copy. Large blocks are not touched until used.
class Bytes {
public:
  Bytes() = default;
  explicit Bytes(uint64_t size);
  uint8_t *data() const { return block.get(); }
  uint64_t size() const { return bytes; }

private:
  struct Release {
    uint64_t mapped;
    void operator()(uint8_t *p) const;
  };
  std::unique_ptr<uint8_t, Release> block{nullptr, Release{0}};
  uint64_t bytes = 0;
};

struct Array {
  uint32_t dtype = MOPT_UNDEFINED;
  std::vector<int64_t> dims;
  Bytes bytes;
};
mopt_array asTensor(const Array &array);

// "x=1x3x224x224" -> {x: [1,3,224,224]}; "s=" is a scalar.
using Shapes = std::map<std::string, std::vector<int64_t>>;
Shapes parseShapes(const std::vector<std::string> &texts);
// One tensor (without data) an input, from `shapes` or from the model where it fixes all sizes.
std::vector<mopt_array> inputShapes(const mopt_model *model, const Shapes &shapes);
// The same inputs in every run and on every machine: floats uniform in [-1, 1), integers and bools 0 or 1.
std::vector<Array> makeInputs(const mopt_model *model, const Shapes &shapes, uint64_t seed);
// Inputs in the model's order from an .npz file.
std::vector<Array> readInputs(const mopt_model *model, const std::string &path);
void bindInputs(mopt_session *session, const std::vector<Array> &inputs);

std::string dimsText(const mopt_model *model, const mopt_tensor_info &info); // "[batch,3,224]"
std::string humanBytes(uint64_t bytes);
std::string printable(const std::string &text, size_t most = 120); // names come from models

// Each adds one subcommand; its callback throws Failure or returns.
void addRun(CLI::App &app);
void addBench(CLI::App &app);
void addInspect(CLI::App &app);
// Runs mopt-compiler with all arguments of this process; only returns by throwing.
[[noreturn]] void runCompiler(int argc, char **argv);

} // namespace mopt::tool
