// Fuzzes the .pt2 reader: the archive, the schema, stored tensors, and importing.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/dynamo/import.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > (1u << 20)) return 0;
  const int file = memfd_create("input.pt2", MFD_CLOEXEC);
  if (file < 0) return 0;
  const bool written = write(file, data, size) == static_cast<ssize_t>(size);
  slipway::fuzz::attempt([&] {
    if (!written) return;
    const auto program =
        slipway::dynamo::ProgramFile::open("/proc/self/fd/" + std::to_string(file));
    for (const auto* payloads : {&program.weights, &program.constants})
      for (const auto& [name, meta] : payloads->config)
        slipway::fuzz::attempt([&, key = name] {
          const auto lazy = slipway::dynamo::stored_tensor(program, program.stored(key));
          std::vector<std::byte> out(static_cast<size_t>(slipway::itemsize(lazy->dtype())));
          if (lazy->numel() == 0) return;
          lazy->read(0, 1, out.data());
          lazy->read(lazy->numel() - 1, 1, out.data());
        });
    slipway::dynamo::import_program(program);
  });
  close(file);
  return 0;
}
