// mopt inspect: what an artifact holds and needs.
#include "CLI/CLI.hpp"
#include "Common.h"
#include <cinttypes>
#include <nlohmann/json.hpp>

namespace mopt::tool {
namespace {
using nlohmann::json;

struct InspectOptions {
  std::string model;
  std::vector<std::string> shapes;
  bool verify = false, json = false, manifest = false;
  int sessions = 1;
};

std::string hex(const uint64_t hash[2]) {
  char text[40];
  std::snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, hash[1], hash[0]);
  return text;
}

std::string sizeText(const mopt_model *model, mopt_size size) {
  if (size >= 0)
    return std::to_string(size);
  const char *name = mopt_model_symbol_name(model, static_cast<uint32_t>(MOPT_SYMBOL_OF_SIZE(size)));
  return printable(name && *name ? name : "?", 40);
}

json ports(const mopt_model *model, uint32_t count, mopt_code (*get)(const mopt_model *, uint32_t, mopt_tensor_info *)) {
  json all = json::array();
  for (uint32_t i = 0; i < count; ++i) {
    mopt_tensor_info info;
    get(model, i, &info);
    all.push_back({{"name", info.name}, {"dtype", mopt_dtype_name(info.dtype)}, {"shape", dimsText(model, info)}});
  }
  return all;
}

std::string cpuText(uint64_t bits) {
  std::string text;
  for (int i = 0; i < 64; ++i)
    if (bits >> i & 1) {
      const char *name = mopt_cpu_feature_name(1ull << i);
      text += (text.empty() ? "" : " ") + std::string(name ? name : "?");
    }
  return text.empty() ? "baseline" : text;
}

json inspect(const InspectOptions &o, mopt_model *model) {
  mopt_model_info info;
  mopt_model_get_info(model, &info);
  json r = {{"format", 1},
            {"abi", info.abi_version},
            {"machine", mopt_machine_name(info.machine)},
            {"cpu", cpuText(info.cpu)},
            {"file_bytes", info.file_bytes},
            {"code_bytes", info.code_bytes},
            {"weights_bytes", info.weights_bytes},
            {"code_hash", hex(info.code_hash)},
            {"weights_hash", hex(info.weights_hash)},
            {"inputs", ports(model, info.ninputs, mopt_model_input)},
            {"outputs", ports(model, info.noutputs, mopt_model_output)},
            {"buffers", info.nbuffers}};
  mopt_error error;
  bool runs = mopt_model_can_run(model, &error) == MOPT_OK;
  r["runs_here"] = runs;
  r["reason"] = runs ? json(nullptr) : json(error.message);
  json symbols = json::array(), steps = json::array();
  for (uint32_t i = 0; i < info.nsymbols; ++i) {
    const char *name = mopt_model_symbol_name(model, i);
    symbols.push_back(name && *name ? name : "?");
  }
  for (uint32_t i = 0; i < info.nsteps; ++i) {
    mopt_step_info s;
    mopt_model_step(model, i, &s);
    json variants = json::array();
    for (uint32_t v = 0; v < s.nvariants; ++v)
      variants.push_back(mopt_model_variant_name(model, i, v));
    steps.push_back({{"step", i},
                     {"name", s.name},
                     {"nodes", s.nodes},
                     {"operands", s.noperands},
                     {"chunks", sizeText(model, s.chunks)},
                     {"macs", sizeText(model, s.macs)},
                     {"bytes", sizeText(model, s.bytes)},
                     {"variants", variants}});
  }
  r["symbols"] = symbols;
  r["steps"] = steps;
  if (o.verify) {
    verifyWeights(model);
    r["verified"] = true;
  }
  // Memory is known where the shapes are.
  bool known = true;
  for (uint32_t i = 0; i < info.ninputs && o.shapes.empty(); ++i) {
    mopt_tensor_info input;
    mopt_model_input(model, i, &input);
    for (uint32_t d = 0; d < input.rank; ++d)
      known &= input.dims[d] >= 0;
  }
  if (known) {
    Pool pool = makePool(1);
    Session session = makeSession(model, pool.get());
    std::vector<mopt_array> shapes = inputShapes(model, parseShapes(o.shapes));
    mopt_memory m;
    check(mopt_session_plan(session.get(), shapes.data(), static_cast<uint32_t>(shapes.size()), &m, &error), error);
    uint64_t one = m.arena + m.outputs + m.tables;
    r["memory"] = {{"arena", m.arena},       {"outputs", m.outputs},
                   {"tables", m.tables},     {"session", one},
                   {"sessions", o.sessions}, {"total", info.weights_bytes + one * static_cast<uint64_t>(o.sessions)}};
  }
  return r;
}

void print(const json &r) {
  auto bytes = [](const json &v) { return humanBytes(v.get<uint64_t>()); };
  auto text = [](const json &v, size_t most = 120) { return printable(v.get<std::string>(), most); };
  std::printf("artifact   ABI %u, %s, needs %s\n", r["abi"].get<unsigned>(), text(r["machine"]).c_str(),
              text(r["cpu"]).c_str());
  std::printf("runs here  %s\n", r["runs_here"].get<bool>() ? "yes" : ("no: " + text(r["reason"], 400)).c_str());
  std::printf("size       %s: code and tables %s, weights %s\n", bytes(r["file_bytes"]).c_str(),
              bytes(r["code_bytes"]).c_str(), bytes(r["weights_bytes"]).c_str());
  std::printf("hashes     code %s, weights %s%s\n", text(r["code_hash"]).c_str(), text(r["weights_hash"]).c_str(),
              r.contains("verified") ? " (all verified)" : " (weights not read; --verify does)");
  for (const char *kind : {"inputs", "outputs"})
    for (const json &p : r[kind])
      std::printf("%-10s %s %s %s\n", kind == std::string("inputs") ? "input" : "output", text(p["name"]).c_str(),
                  text(p["dtype"]).c_str(), text(p["shape"], 400).c_str());
  if (r.contains("memory")) {
    const json &m = r["memory"];
    std::printf("memory     a session: arena %s, outputs %s, tables %s; %d session(s) with weights: %s\n",
                bytes(m["arena"]).c_str(), bytes(m["outputs"]).c_str(), bytes(m["tables"]).c_str(), m["sessions"].get<int>(),
                bytes(m["total"]).c_str());
  } else {
    std::printf("memory     depends on the shapes: give --shape NAME=1x3x224x224\n");
  }
  std::printf("steps      %zu, %u buffers\n", r["steps"].size(), r["buffers"].get<unsigned>());
  for (const json &s : r["steps"]) {
    std::string variants;
    for (const json &v : s["variants"])
      variants += " " + text(v, 40);
    std::printf("%5d  %s (%s), chunks %s, MACs %s%s%s\n", s["step"].get<int>(), text(s["name"], 60).c_str(),
                text(s["nodes"], 200).c_str(), text(s["chunks"]).c_str(), text(s["macs"]).c_str(),
                s["variants"].size() > 1 ? ", variants" : "", s["variants"].size() > 1 ? variants.c_str() : "");
  }
}
} // namespace

void addInspect(CLI::App &app) {
  auto o = std::make_shared<InspectOptions>();
  CLI::App *sub =
      app.add_subcommand("inspect", "Show what an artifact (or, through the compiler, an ONNX model) holds and needs");
  sub->footer("Example: mopt inspect model.so --verify --shape x=8x3x224x224 --sessions 4");
  sub->add_option("model", o->model, "artifact, or a .onnx or .mlir file")->required();
  sub->add_flag("--verify", o->verify, "read all weights and compare their hashes");
  sub->add_option("--shape", o->shapes, "NAME=1x3x224x224: memory for these inputs")->allow_extra_args(false);
  sub->add_option("--sessions", o->sessions, "memory for so many sessions of the model")->check(CLI::Range(1, 1000000));
  sub->add_flag("--manifest", o->manifest, "print only the manifest (JSON)");
  sub->add_flag("--json", o->json, "print everything as JSON");
  sub->callback([o] {
    Model model = describeModel(o->model);
    mopt_model_info info;
    mopt_model_get_info(model.get(), &info);
    if (o->manifest) {
      std::fwrite(info.manifest, 1, info.manifest_bytes, stdout);
      std::printf("\n");
      return;
    }
    json report = inspect(*o, model.get());
    if (o->json) {
      json manifest = json::parse(info.manifest, info.manifest + info.manifest_bytes, nullptr, false);
      report["manifest"] = manifest.is_discarded() ? json(nullptr) : manifest;
      std::printf("%s\n", report.dump(2, ' ', false, json::error_handler_t::replace).c_str());
    } else {
      print(report);
    }
  });
}
} // namespace mopt::tool
