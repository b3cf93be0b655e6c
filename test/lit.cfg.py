"""How lit finds and runs our tests. The site file in the build folder says where things are, then loads this."""

import os

import lit.formats

config.name = "mopt"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
# Inputs: files that tests read. The other folders have runners of their own (./dev test starts them).
config.excludes = ["Inputs", "architecture", "cases", "conformance", "e2e", "models", "python"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.build, "test")
# A rewrite that never ends is a common mistake: no test may run for ever, also when lit is called without --timeout.
config.maxIndividualTestTime = 120

config.environment["PATH"] = os.pathsep.join([os.path.join(config.build, "bin"), config.llvm_tools, os.environ["PATH"]])
config.environment["PYTHONPATH"] = os.path.join(config.build, "python")
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "MOPT_MODELS", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%python", config.python))
config.substitutions.append(("%source", config.source))
config.substitutions.append(("%models", os.path.join(config.source, "test", "models")))

config.available_features.add(config.machine)
if config.sanitizers:
    config.available_features.add("sanitized")
