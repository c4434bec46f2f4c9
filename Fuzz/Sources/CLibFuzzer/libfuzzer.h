#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer (https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library); comes with `-sanitize=fuzzer`.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
