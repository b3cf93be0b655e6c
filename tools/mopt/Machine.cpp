#include "Machine.h"
#include "mopt/Runtime/mopt.h"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace mopt::tool {

static double readNumber(const std::string &path, double otherwise) {
  std::ifstream in(path);
  double v;
  return in >> v ? v : otherwise;
}

MachineState readMachine() {
  MachineState s;
  s.processors = mopt_cpu_count();
  s.frequencyMHz = readNumber("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", 0) / 1000;
  if (s.frequencyMHz == 0) {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
      if (line.rfind("cpu MHz", 0) == 0 && line.find(':') != std::string::npos) {
        s.frequencyMHz = std::atof(line.c_str() + line.find(':') + 1);
        break;
      }
  }
  s.load1 = readNumber("/proc/loadavg", 0);
  std::error_code ignored;
  for (auto &zone : std::filesystem::directory_iterator("/sys/class/thermal", ignored))
    s.temperature = std::max(s.temperature, readNumber(zone.path() / "temp", 0) / 1000);
  for (int cpu = 0; cpu < 1024; ++cpu) {
    double count =
        readNumber("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/thermal_throttle/core_throttle_count", -1);
    if (count < 0)
      break;
    s.throttleCount = std::max<int64_t>(s.throttleCount, 0) + static_cast<int64_t>(count);
  }
  return s;
}

void Calibration::sample() {
  int64_t begin = mopt_now_ns();
  // Four independent chains: limited by the arithmetic unit, as kernels are, and not by memory.
  double a = 1, b = 2, c = 3, d = 4;
  for (int i = 0; i < 400000; ++i) {
    a = a * 0.999 + 0.001;
    b = b * 0.998 + 0.002;
    c = c * 0.997 + 0.003;
    d = d * 0.996 + 0.004;
  }
  volatile double sink = a + b + c + d;
  (void)sink;
  times.push_back(static_cast<double>(mopt_now_ns() - begin));
}

static double median(std::vector<double> v) {
  if (v.empty())
    return 0;
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

double Calibration::spread() const {
  if (times.size() < 3)
    return 1;
  std::vector<double> v = times;
  std::sort(v.begin(), v.end());
  return v[v.size() - 1 - v.size() / 10] / v[0];
}

double Calibration::drift() const {
  std::size_t third = times.size() / 3;
  if (third < 2)
    return 1;
  auto n = static_cast<std::ptrdiff_t>(third);
  return median({times.end() - n, times.end()}) / median({times.begin(), times.begin() + n});
}

std::string verdict(const Calibration &calibration, const MachineState &before, const MachineState &after) {
  if (after.throttleCount > before.throttleCount || calibration.drift() > 1.10)
    return "throttled";
  return calibration.spread() > 1.10 ? "noisy" : "ok";
}

} // namespace mopt::tool
