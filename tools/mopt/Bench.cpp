// mopt bench: how long a model takes, and whether the machine was quiet enough for the answer to mean something.
#include "CLI/CLI.hpp"
#include "Common.h"
#include "Machine.h"
#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

namespace mopt::tool {
namespace {
using nlohmann::json;

struct BenchOptions {
  std::string model, inputs, variant;
  std::vector<std::string> shapes;
  int threads = 0, warmup = 3;
  int64_t runs = 0;
  double seconds = 2;
  std::vector<int> concurrency{1};
  bool profile = false, json = false;
  uint64_t seed = 1;
};

struct Times {
  double mean = 0, p10 = 0, p50 = 0, p95 = 0, p99 = 0, max = 0; // microseconds
  std::size_t runs = 0;
  double qps = 0;
};

double percentile(const std::vector<double> &sorted, double p) {
  return sorted.empty()
             ? 0
             : sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(p * static_cast<double>(sorted.size())))];
}

Times summarize(std::vector<double> us, double wallSeconds) {
  Times t;
  std::sort(us.begin(), us.end());
  t.runs = us.size();
  t.mean = us.empty() ? 0 : std::accumulate(us.begin(), us.end(), 0.0) / static_cast<double>(us.size());
  t.p10 = percentile(us, 0.10), t.p50 = percentile(us, 0.50), t.p95 = percentile(us, 0.95), t.p99 = percentile(us, 0.99);
  t.max = us.empty() ? 0 : us.back();
  t.qps = wallSeconds > 0 ? static_cast<double>(us.size()) / wallSeconds : 0;
  return t;
}

void runOnce(mopt_session *session) {
  mopt_error error;
  check(mopt_session_run(session, nullptr, &error), error);
}

// One slice: every session runs on a thread of its own until `runs` of them are done or `seconds` are over. Returns wall
// time.
double runSlice(std::vector<Session> &sessions, int64_t runs, double seconds, std::vector<std::vector<double>> &us) {
  std::atomic<bool> failed{false};
  std::string message;
  std::atomic<int64_t> left{runs > 0 ? runs : INT64_MAX};
  int64_t begin = mopt_now_ns(), end = runs > 0 ? INT64_MAX : begin + static_cast<int64_t>(seconds * 1e9);
  auto body = [&](std::size_t i) {
    try {
      while (!failed && left.fetch_sub(1) > 0) {
        int64_t before = mopt_now_ns();
        runOnce(sessions[i].get());
        int64_t after = mopt_now_ns();
        us[i].push_back(static_cast<double>(after - before) / 1000);
        if (after >= end)
          break;
      }
    } catch (const Failure &f) {
      if (!failed.exchange(true))
        message = f.what();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < sessions.size(); ++i)
    threads.emplace_back(body, i);
  body(0);
  for (std::thread &t : threads)
    t.join();
  if (failed)
    failInput(message);
  return static_cast<double>(mopt_now_ns() - begin) / 1e9;
}

uint64_t total(const mopt_memory &m) { return m.arena + m.staging + m.outputs + m.heap + m.tables; }

json profileSteps(const BenchOptions &o, mopt_model *model, mopt_pool *pool, const std::vector<Array> &inputs) {
  Session session = makeSession(model, pool, true);
  chooseVariant(session.get(), model, o.variant);
  bindInputs(session.get(), inputs);
  runOnce(session.get());
  mopt_session_reset_profile(session.get());
  int64_t end = mopt_now_ns() + static_cast<int64_t>(std::min(o.seconds, 2.0) * 1e9);
  for (int64_t i = 0; i < (o.runs ? o.runs : 1000000) && (i < 3 || mopt_now_ns() < end); ++i)
    runOnce(session.get());
  json steps = json::array();
  mopt_model_info info;
  mopt_model_get_info(model, &info);
  double all = 0;
  for (uint32_t i = 0; i < info.nsteps; ++i) {
    mopt_step_profile p;
    mopt_step_info s;
    mopt_session_profile(session.get(), i, &p, nullptr);
    mopt_model_step(model, i, &s);
    double us = p.calls ? static_cast<double>(p.ns) / 1000 / static_cast<double>(p.calls) : 0;
    all += us;
    json step = {{"step", i}, {"name", printable(s.name)}, {"nodes", printable(s.nodes, 400)},
                 {"us", us},  {"calls", p.calls},          {"chunks", p.chunks}};
    if (p.macs >= 0 && us > 0)
      step["macs"] = p.macs, step["gmacs_per_s"] = static_cast<double>(p.macs) / us / 1000;
    if (p.bytes >= 0 && us > 0)
      step["bytes"] = p.bytes, step["gb_per_s"] = static_cast<double>(p.bytes) / us / 1000;
    steps.push_back(step);
  }
  for (json &step : steps)
    step["share"] = all > 0 ? step["us"].get<double>() / all : 0;
  return steps;
}

json machineJson(const MachineState &m) {
  json j = {{"processors", m.processors}, {"load1", m.load1}};
  j["frequency_mhz"] = m.frequencyMHz ? json(m.frequencyMHz) : json(nullptr);
  j["temperature_c"] = m.temperature ? json(m.temperature) : json(nullptr);
  j["throttle_count"] = m.throttleCount >= 0 ? json(m.throttleCount) : json(nullptr);
  return j;
}

json measure(const BenchOptions &o, mopt_model *model, mopt_pool *pool, const std::vector<Array> &inputs, int count,
             Calibration &calibration) {
  std::vector<Session> sessions;
  for (int i = 0; i < count; ++i) {
    sessions.push_back(makeSession(model, pool));
    chooseVariant(sessions.back().get(), model, o.variant);
    bindInputs(sessions.back().get(), inputs);
    for (int w = 0; w < std::max(o.warmup, 1); ++w)
      runOnce(sessions.back().get());
  }
  std::vector<std::vector<double>> us(sessions.size());
  double wall = 0;
  const int slices = o.runs > 0 ? static_cast<int>(std::min<int64_t>(o.runs, 10)) : 10; // the calibration runs between them
  for (int s = 0; s < slices; ++s) {
    calibration.sample();
    wall += runSlice(sessions, o.runs > 0 ? o.runs * (s + 1) / slices - o.runs * s / slices : 0, o.seconds / slices, us);
  }
  calibration.sample();
  std::vector<double> all;
  for (auto &v : us)
    all.insert(all.end(), v.begin(), v.end());
  Times t = summarize(std::move(all), wall);
  mopt_memory memory;
  mopt_session_memory(sessions[0].get(), &memory);
  return {
      {"concurrency", count}, {"runs", t.runs},  {"qps", t.qps},    {"mean_us", t.mean}, {"p10_us", t.p10},
      {"p50_us", t.p50},      {"p95_us", t.p95}, {"p99_us", t.p99}, {"max_us", t.max},   {"session_bytes", total(memory)}};
}

void print(const json &r) {
  std::printf("load       %.2f ms, first run %.2f ms, weights %s, session %s\n", r["load_ms"].get<double>(),
              r["first_run_ms"].get<double>(), humanBytes(r["weights_bytes"]).c_str(),
              humanBytes(r["session_bytes"]).c_str());
  std::printf("%-6s %8s %10s %10s %10s %10s %10s %10s %10s %9s\n", "conc", "runs", "QPS", "mean us", "p10", "P50", "P95",
              "P99", "max", "scaling");
  for (const json &m : r["results"]) {
    std::string scaling = m["scaling"].is_string() ? m["scaling"].get<std::string>() : "";
    if (m["scaling"].is_number()) {
      char text[32];
      std::snprintf(text, sizeof text, "x%.2f", m["scaling"].get<double>());
      scaling = text;
    }
    std::printf("%-6d %8llu %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f %9s\n", m["concurrency"].get<int>(),
                static_cast<unsigned long long>(m["runs"].get<uint64_t>()), m["qps"].get<double>(),
                m["mean_us"].get<double>(), m["p10_us"].get<double>(), m["p50_us"].get<double>(), m["p95_us"].get<double>(),
                m["p99_us"].get<double>(), m["max_us"].get<double>(), scaling.c_str());
  }
  const json &s = r["machine"]["after"];
  std::printf("machine    %s: %d processors, %d threads, load %.2f", r["machine"]["verdict"].get<std::string>().c_str(),
              s["processors"].get<int>(), r["threads"].get<int>(), s["load1"].get<double>());
  if (s["frequency_mhz"].is_number())
    std::printf(", %.0f MHz", s["frequency_mhz"].get<double>());
  if (s["temperature_c"].is_number())
    std::printf(", %.0f C", s["temperature_c"].get<double>());
  std::printf(", calibration spread %.2f, drift %.2f\n", r["machine"]["calibration_spread"].get<double>(),
              r["machine"]["calibration_drift"].get<double>());
  if (!r.contains("steps"))
    return;
  std::printf("%5s %10s %6s %8s %9s %8s  %s\n", "step", "us", "%", "chunks", "GMAC/s", "GB/s", "name (ONNX nodes)");
  for (const json &p : r["steps"])
    std::printf("%5d %10.1f %6.1f %8lld %9.2f %8.2f  %s (%s)\n", p["step"].get<int>(), p["us"].get<double>(),
                100 * p["share"].get<double>(), p["chunks"].get<long long>(), p.value("gmacs_per_s", 0.0),
                p.value("gb_per_s", 0.0), p["name"].get<std::string>().c_str(),
                printable(p["nodes"].get<std::string>(), 80).c_str());
}

void bench(const BenchOptions &o) {
  MachineState before = readMachine();
  int64_t begin = mopt_now_ns();
  Model model = loadModel(o.model);
  double loadMs = static_cast<double>(mopt_now_ns() - begin) / 1e6;
  Pool pool = makePool(o.threads);
  std::vector<Array> inputs =
      o.inputs.empty() ? makeInputs(model.get(), parseShapes(o.shapes), o.seed) : readInputs(model.get(), o.inputs);
  double firstMs;
  mopt_memory memory;
  {
    Session session = makeSession(model.get(), pool.get());
    chooseVariant(session.get(), model.get(), o.variant);
    bindInputs(session.get(), inputs);
    begin = mopt_now_ns();
    runOnce(session.get());
    firstMs = static_cast<double>(mopt_now_ns() - begin) / 1e6;
    mopt_session_memory(session.get(), &memory);
  }
  mopt_model_info info;
  mopt_model_get_info(model.get(), &info);
  Calibration calibration;
  json results = json::array();
  for (int c : o.concurrency)
    results.push_back(measure(o, model.get(), pool.get(), inputs, c, calibration));
  MachineState after = readMachine();
  std::string state = verdict(calibration, before, after);
  for (json &m : results) { // QPS against the first row: a ratio, so only where the machine stood still
    double ratio = results[0]["qps"].get<double>() > 0 ? m["qps"].get<double>() / results[0]["qps"].get<double>() : 0;
    m["scaling"] = results.size() < 2 ? json(nullptr) : state == "ok" ? json(ratio) : json(state);
  }
  json report = {{"format", 1},
                 {"model", o.model},
                 {"variant", o.variant.empty() ? json(nullptr) : json(o.variant)},
                 {"threads", mopt_pool_threads(pool.get())},
                 {"load_ms", loadMs},
                 {"first_run_ms", firstMs},
                 {"weights_bytes", info.weights_bytes},
                 {"session_bytes", total(memory)},
                 {"arena_bytes", memory.arena},
                 {"results", results},
                 {"machine",
                  {{"verdict", state},
                   {"before", machineJson(before)},
                   {"after", machineJson(after)},
                   {"calibration_spread", calibration.spread()},
                   {"calibration_drift", calibration.drift()}}}};
  if (o.profile)
    report["steps"] = profileSteps(o, model.get(), pool.get(), inputs);
  if (o.json)
    std::printf("%s\n", report.dump(2, ' ', false, json::error_handler_t::replace).c_str());
  else
    print(report);
}
} // namespace

void addBench(CLI::App &app) {
  auto o = std::make_shared<BenchOptions>();
  CLI::App *sub = app.add_subcommand("bench", "Measure a compiled model");
  sub->footer("Example: mopt bench model.so --shape x=1x3x224x224 --threads 2 --concurrency 1,2,4 --profile\n"
              "`scaling` is QPS against the first row; it reads noisy or throttled where the machine did not stand still.");
  sub->add_option("model", o->model, "artifact written by mopt compile")->required();
  sub->add_option("--inputs", o->inputs, ".npz file; without it inputs are made up from --shape and --seed");
  sub->add_option("--shape", o->shapes, "NAME=1x3x224x224, for made-up inputs")->allow_extra_args(false);
  sub->add_option("--threads", o->threads, "threads of the pool that all sessions share; default 0: all processors")
      ->check(CLI::Range(0, 1024));
  auto *runs =
      sub->add_option("--runs", o->runs, "runs for each concurrency")->check(CLI::Range(int64_t(1), int64_t(1) << 40));
  sub->add_option("--seconds", o->seconds, "time for each concurrency, default 2")
      ->check(CLI::Range(0.01, 86400.0))
      ->excludes(runs);
  sub->add_option("--warmup", o->warmup, "runs of each session before, default 3")->check(CLI::Range(0, 1000000));
  sub->add_option("--concurrency", o->concurrency, "sessions at the same time, e.g. 1,2,4,8")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  sub->add_option("--seed", o->seed, "of made-up inputs");
  sub->add_option("--variant", o->variant,
                  "runs every step that has a variant of this name with it; mopt inspect lists them");
  sub->add_flag("--profile", o->profile, "time each step, in separate runs");
  sub->add_flag("--json", o->json, "print the report as JSON");
  sub->callback([o] { bench(*o); });
}
} // namespace mopt::tool
