// mopt run: inputs from .npz (or made up), one run, outputs to .npz.
#include "CLI/CLI.hpp"
#include "Npz.h"

namespace mopt::tool {
namespace {
struct RunOptions {
  std::string model, inputs, outputs, variant;
  std::vector<std::string> shapes;
  int threads = 0;
  uint64_t seed = 1;
  bool verify = false;
};

void run(const RunOptions &o) {
  Model model = loadModel(o.model);
  if (o.verify)
    verifyWeights(model.get());
  Pool pool = makePool(o.threads);
  Session session = makeSession(model.get(), pool.get());
  chooseVariant(session.get(), model.get(), o.variant);
  std::vector<Array> inputs =
      o.inputs.empty() ? makeInputs(model.get(), parseShapes(o.shapes), o.seed) : readInputs(model.get(), o.inputs);
  bindInputs(session.get(), inputs);
  mopt_error error;
  check(mopt_session_run(session.get(), nullptr, &error), error);
  mopt_model_info info;
  mopt_model_get_info(model.get(), &info);
  std::vector<NamedTensor> results(info.noutputs);
  for (uint32_t i = 0; i < info.noutputs; ++i) {
    mopt_tensor_info output;
    mopt_model_output(model.get(), i, &output);
    results[i].name = output.name;
    check(mopt_session_output(session.get(), i, &results[i].tensor, &error), error);
    if (o.outputs.empty()) {
      std::printf("%s %s [", printable(output.name).c_str(), mopt_dtype_name(output.dtype));
      for (uint32_t d = 0; d < results[i].tensor.rank; ++d)
        std::printf("%s%lld", d ? "," : "", static_cast<long long>(results[i].tensor.dims[d]));
      std::printf("]\n");
    }
  }
  if (!o.outputs.empty())
    writeNpz(o.outputs, results);
}
} // namespace

void addRun(CLI::App &app) {
  auto o = std::make_shared<RunOptions>();
  CLI::App *sub = app.add_subcommand("run", "Run a compiled model once");
  sub->footer("Example: mopt run model.so --inputs in.npz --outputs out.npz --threads 2\n"
              "bfloat16 arrays are uint16 in .npz files, float8 uint8, 4-bit integers int8/uint8. Without --outputs the "
              "shapes are printed.");
  sub->add_option("model", o->model, "artifact written by mopt compile")->required();
  sub->add_option("--inputs", o->inputs,
                  ".npz file with one array an input; without it inputs are made up from --shape and --seed");
  sub->add_option("-o,--outputs", o->outputs, ".npz file to write, through a temporary file that is renamed");
  sub->add_option("--shape", o->shapes, "NAME=1x3x224x224, for made-up inputs")->allow_extra_args(false);
  sub->add_option("--threads", o->threads, "threads of the pool; default 0: all processors")->check(CLI::Range(0, 1024));
  sub->add_option("--seed", o->seed, "of made-up inputs");
  sub->add_option("--variant", o->variant, "runs every step that has a variant of this name with it");
  sub->add_flag("--verify", o->verify,
                "read all weights before and compare their hashes; everything else is always checked");
  sub->callback([o] { run(*o); });
}
} // namespace mopt::tool
