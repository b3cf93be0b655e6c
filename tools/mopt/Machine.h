// The state of the machine while something is measured: a time means little without it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace mopt::tool {

struct MachineState {
  int processors = 0;
  double frequencyMHz = 0;    // of processor 0 now; 0: not readable
  double load1 = 0;           // runnable tasks, mean of one minute
  double temperature = 0;     // degrees Celsius, the hottest zone; 0: not readable
  int64_t throttleCount = -1; // times the processor slowed down because of heat, since boot; -1: not readable
};
MachineState readMachine();

// A fixed piece of arithmetic, run between measurements: if its time moves, the machine moved, not the model.
class Calibration {
public:
  void sample(); // about 2 ms
  // Largest over smallest of the samples, the slowest tenth left out; 1 if there are too few.
  double spread() const;
  // Median of the last third over median of the first third.
  double drift() const;
  std::size_t count() const { return times.size(); }

private:
  std::vector<double> times;
};

// "ok", "noisy" (calibration moved by more than 10 %) or "throttled" (heat counter rose, or it ended 10 % slower than it
// began).
std::string verdict(const Calibration &calibration, const MachineState &before, const MachineState &after);

} // namespace mopt::tool
