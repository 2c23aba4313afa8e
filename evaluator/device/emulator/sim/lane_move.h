// One element between memory and one lane of a register: the slow but general way.
#pragma once

#include <cstdint>
#include <cstring>

namespace hone::emulator {

template <class T>
inline T get(const void* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// One element of `size` bytes into lane `lane` of a register.
inline void put_lane(void* reg, bool wide, bool sign, int size, int lane,
                     const std::uint8_t* from) {
  std::uint64_t v;
  switch (size) {
    case 1:
      v = sign ? static_cast<std::uint64_t>(std::int64_t{get<std::int8_t>(from)})
               : get<std::uint8_t>(from);
      break;
    case 2:
      v = sign ? static_cast<std::uint64_t>(std::int64_t{get<std::int16_t>(from)})
               : get<std::uint16_t>(from);
      break;
    case 4:
      v = sign ? static_cast<std::uint64_t>(std::int64_t{get<std::int32_t>(from)})
               : get<std::uint32_t>(from);
      break;
    default:
      v = get<std::uint64_t>(from);
      break;
  }
  if (wide)
    static_cast<std::uint64_t*>(reg)[lane] = v;
  else
    static_cast<std::uint32_t*>(reg)[lane] = static_cast<std::uint32_t>(v);
}
inline void get_lane(const void* reg, bool wide, int size, int lane, std::uint8_t* to) {
  const std::uint64_t v = wide ? static_cast<const std::uint64_t*>(reg)[lane]
                               : static_cast<const std::uint32_t*>(reg)[lane];
  switch (size) {  // of fixed sizes, or each would be a call
    case 1:
      std::memcpy(to, &v, 1);
      break;
    case 2:
      std::memcpy(to, &v, 2);
      break;
    case 4:
      std::memcpy(to, &v, 4);
      break;
    default:
      std::memcpy(to, &v, 8);
      break;
  }
}

}  // namespace hone::emulator
