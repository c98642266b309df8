/*
 * Memory of a device that is not in use just now. A device gets its memory back when
 * its backend closes, not before: Mesa's llvmpipe (22.3) writes to a buffer that was
 * freed while a queue lives whose descriptors have named it once, and taking memory
 * that is there already is quicker on every device. What is large goes back at once.
 */
#ifndef SHIM_SPARE_MEMORY_H
#define SHIM_SPARE_MEMORY_H

#include <mutex>
#include <vector>

#include "../library/table.h"

namespace shim {

class spare_memory {
  public:
    /* The smallest buffer of at least so many bytes that is not much larger; null for none. */
    ggml_backend_buffer_t take(size_t bytes);

    /* Keeps the buffer, or frees it where enough is kept. */
    void give(ggml_backend_buffer_t buffer);

    void free_all();

  private:
    std::mutex mutex;
    std::vector<ggml_backend_buffer_t> buffers;
    size_t kept = 0;  // bytes
};

}  // namespace shim

#endif
