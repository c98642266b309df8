/* Made by capi/gen from include/qtsaccel.h; do not edit. */
/* clang-format off */

#ifndef SHIM_STATUS_CODES_H
#define SHIM_STATUS_CODES_H

#include <cstdint>

namespace shim {

enum status : int32_t {
    ok = 0,
    invalid_argument = -1,
    invalid_handle = -2,
    shape_mismatch = -3,
    unsupported = -4,
    not_found = -5,
    out_of_memory = -6,
    io = -7,
    corrupt = -8,
    device_unavailable = -9,
    device_lost = -10,
    busy = -11,
    cancelled = -12,
    forked = -13,
    not_worthwhile = -14,
    already_exists = -15,
    invalid_state = -16,
    timeout = -17,
    version_mismatch = -18,
    internal = -19,
};

}  // namespace shim

#endif
