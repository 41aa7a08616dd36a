// A stand-in for NVIDIA's driver library, so far as PyCUDA is used here: memory is the host's, a module is the name of a
// library with emulated kernels. It is strict where the driver is: without a current context, or with one of another
// thread, calls fail; so do launches of nothing and accesses to memory that was not given out.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {
enum { OK = 0, INVALID_VALUE = 1, NO_MEMORY = 2, INVALID_CONTEXT = 201, NOT_FOUND = 500, ILLEGAL = 700 };
constexpr int MOST_SHARED = 227 << 10;
typedef unsigned long long Address;
struct Module { void *library; };
struct Function { void *entry; unsigned shared; };
struct Event { double at; };
std::mutex lock;
std::map<Address, size_t> given;
size_t used, limit = (size_t)(getenv("STAND_IN_MIB") ? atoi(getenv("STAND_IN_MIB")) : 64) << 20;
int context;
bool broken;
thread_local std::vector<void *> stack;

bool current() { return !stack.empty() && stack.back() == &context; }
int ready() { return broken ? ILLEGAL : current() ? OK : INVALID_CONTEXT; }
// is this memory of one piece that was given out?
bool ours(Address start, size_t size) {
  std::lock_guard<std::mutex> hold(lock);
  auto after = given.upper_bound(start);
  if (after == given.begin()) return false;
  --after;
  return start + size <= after->first + after->second;
}
double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}
}  // namespace

extern "C" {
int cuInit(unsigned) { return OK; }
int cuGetExportTable(const void **, const void *) { return NOT_FOUND; }  // NVRTC looks for it wherever a driver is
int cuDriverGetVersion(int *version) { return *version = 13000, OK; }
int cuGetErrorString(int status, const char **text) {
  return *text = status == ILLEGAL ? "an illegal memory access was encountered" : "a failure", OK;
}
int cuDeviceGetCount(int *count) { return *count = 1, OK; }
int cuDeviceGet(int *device, int number) { return *device = number, number == 0 ? OK : 101; }
int cuDeviceGetName(char *name, int size, int) { return snprintf(name, size, "stand-in"), OK; }
int cuDeviceTotalMem_v2(size_t *size, int) { return *size = limit, OK; }
int cuDeviceComputeCapability(int *major, int *minor, int) { return *major = 9, *minor = 0, OK; }
int cuDeviceGetAttribute(int *value, int attribute, int) {
  switch (attribute) {
    case 97: return *value = MOST_SHARED, OK;
    case 16: return *value = 2, OK;
    case 75: return *value = 9, OK;
    case 76: return *value = 0, OK;
    default: return INVALID_VALUE;
  }
}
int cuDevicePrimaryCtxRetain(void **found, int) { return *found = &context, OK; }
int cuDevicePrimaryCtxRelease_v2(int) { return OK; }
int cuCtxPushCurrent_v2(void *one) { return stack.push_back(one), OK; }
int cuCtxPopCurrent_v2(void **one) {
  if (stack.empty()) return INVALID_CONTEXT;
  return *one = stack.back(), stack.pop_back(), OK;
}
int cuCtxGetDevice(int *device) { return *device = 0, ready(); }
int cuCtxSynchronize() { return ready(); }

int cuStreamCreate(void **stream, unsigned) { return *stream = malloc(1), ready(); }
int cuStreamDestroy_v2(void *stream) { return free(stream), OK; }
int cuStreamSynchronize(void *stream) { return stream ? ready() : INVALID_VALUE; }
int cuStreamQuery(void *) { return ready(); }
int cuEventCreate(void **event, unsigned) { return *event = new Event, ready(); }
int cuEventDestroy_v2(void *event) { return delete (Event *)event, ready(); }
int cuEventRecord(void *event, void *stream) {
  return ((Event *)event)->at = now(), stream ? ready() : INVALID_VALUE;
}
int cuEventSynchronize(void *) { return ready(); }
int cuEventElapsedTime(float *ms, void *from, void *to) {
  return *ms = (float)(((Event *)to)->at - ((Event *)from)->at), ready();
}

int cuMemAlloc_v2(Address *address, size_t size) {
  if (int status = ready()) return status;
  if (size == 0) return INVALID_VALUE;
  std::lock_guard<std::mutex> hold(lock);
  if (used + size > limit) return NO_MEMORY;
  void *memory = aligned_alloc(256, (size + 255) / 256 * 256);
  memset(memory, 0xa5, size);
  *address = (Address)memory, given[*address] = size, used += size;
  return OK;
}
int cuMemFree_v2(Address address) {
  if (int status = ready()) return status;
  std::lock_guard<std::mutex> hold(lock);
  auto found = given.find(address);
  if (found == given.end()) return INVALID_VALUE;
  used -= found->second, given.erase(found), free((void *)address);
  return OK;
}
int cuPointerGetAttribute(int *value, int attribute, Address address) {
  return *value = attribute == 2 ? 2 : 0, ours(address, 1) ? ready() : INVALID_VALUE;
}
int cuMemHostAlloc(void **memory, size_t size, unsigned) { return *memory = malloc(size), ready(); }
int cuMemFreeHost(void *memory) { return free(memory), OK; }
int cuMemGetInfo_v2(size_t *free, size_t *total) { return *free = limit - used, *total = limit, ready(); }
int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t size, void *stream) {
  if (!stream || !ours(to, size)) return INVALID_VALUE;
  return memcpy((void *)to, from, size), ready();
}
int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t size, void *stream) {
  if (!stream || !ours(from, size)) return INVALID_VALUE;
  return memcpy(to, (void *)from, size), ready();
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t size, void *stream) {
  if (!stream || !ours(to, size)) return INVALID_VALUE;
  return memcpy((void *)to, (void *)from, size), ready();
}
int cuMemsetD8Async(Address to, unsigned char value, size_t size, void *stream) {
  if (!stream || !ours(to, size)) return INVALID_VALUE;
  return memset((void *)to, value, size), ready();
}
int cuMemsetD16Async(Address to, unsigned short value, size_t count, void *stream) {
  if (!stream || to % 2 || !ours(to, 2 * count)) return INVALID_VALUE;
  return std::fill_n((unsigned short *)to, count, value), ready();
}
int cuMemsetD32Async(Address to, unsigned value, size_t count, void *stream) {
  if (!stream || to % 4 || !ours(to, 4 * count)) return INVALID_VALUE;
  return std::fill_n((unsigned *)to, count, value), ready();
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned, int *, void **) {
  void *library = dlopen((const char *)image, RTLD_NOW | RTLD_LOCAL);
  return *module = new Module{library}, library ? ready() : 200;
}
int cuModuleLoadData(void **module, const void *image) { return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr); }
int cuModuleUnload(void *module) { return delete (Module *)module, OK; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  void *entry = dlsym(((Module *)module)->library, (std::string("emulate_") + name).c_str());
  return *function = new Function{entry, 49152}, entry ? ready() : NOT_FOUND;
}
int cuFuncGetAttribute(int *value, int attribute, void *) { return *value = 0, attribute == 1 ? ready() : INVALID_VALUE; }
// 8: the most that launches may add to the shared memory that a kernel declares, which is 48 KiB before
int cuFuncSetAttribute(void *function, int attribute, int value) {
  if (attribute != 8 || value < 0 || value > MOST_SHARED) return INVALID_VALUE;
  return ((Function *)function)->shared = value > 49152 ? value : 49152, ready();
}
int cuFuncSetBlockShape(void *, int x, int y, int z) { return x > 0 && y == 1 && z == 1 ? ready() : INVALID_VALUE; }
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned,
                   unsigned shared, void *stream, void **parameters, void **extra) {
  if (int status = ready()) return status;
  if (!x || y != 1 || z != 1 || !threads || threads > 1024 || shared > ((Function *)function)->shared || !stream) return INVALID_VALUE;
  if (parameters || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != nullptr) return INVALID_VALUE;
  std::vector<char> packed((char *)extra[1], (char *)extra[1] + *(size_t *)extra[3]);
  auto emulate = (int (*)(void *, long long, int, int))((Function *)function)->entry;
  if (emulate(packed.data(), x, threads, 0)) broken = true;
  return broken ? ILLEGAL : OK;
}
void stand_in_break() { broken = true; }

// the rest of what PyCUDA links to
#define ABSENT(name) int name() { return 801; }
#define ABSENT4(a, b, c, d) ABSENT(a) ABSENT(b) ABSENT(c) ABSENT(d)
ABSENT4(cuArray3DCreate_v2, cuArray3DGetDescriptor_v2, cuArrayCreate_v2, cuArrayDestroy)
ABSENT4(cuArrayGetDescriptor_v2, cuCtxAttach, cuCtxCreate_v4, cuCtxDetach)
ABSENT4(cuCtxDisablePeerAccess, cuCtxEnablePeerAccess, cuCtxGetApiVersion, cuCtxGetCacheConfig)
ABSENT4(cuCtxGetLimit, cuCtxGetSharedMemConfig, cuCtxSetCacheConfig, cuCtxSetLimit)
ABSENT4(cuCtxSetSharedMemConfig, cuDeviceCanAccessPeer, cuDeviceGetByPCIBusId, cuDeviceGetPCIBusId)
ABSENT(cuEventElapsedTime_v2) ABSENT(cuEventQuery) ABSENT(cuFuncSetCacheConfig) ABSENT(cuFuncSetSharedSize)
ABSENT4(cuIpcCloseMemHandle, cuIpcGetEventHandle, cuIpcGetMemHandle, cuIpcOpenEventHandle)
ABSENT4(cuIpcOpenMemHandle_v2, cuLaunch, cuLaunchGrid, cuLaunchGridAsync)
ABSENT4(cuLinkAddData_v2, cuLinkAddFile_v2, cuLinkComplete, cuLinkCreate_v2)
ABSENT4(cuLinkDestroy, cuMemAllocManaged, cuMemAllocPitch_v2, cuMemcpy3D_v2)
ABSENT4(cuMemGetAddressRange_v2, cuMemcpyAtoA_v2, cuMemHostGetDevicePointer_v2, cuMemHostGetFlags)
ABSENT4(cuMemHostRegister_v2, cuMemHostUnregister, cuMemcpy2DAsync_v2, cuMemcpy2DUnaligned_v2)
ABSENT4(cuMemcpy2D_v2, cuMemcpy3DAsync_v2, cuMemcpy3DPeer, cuMemcpy3DPeerAsync)
ABSENT(cuMemcpyAtoD_v2) ABSENT(cuMemcpyAtoH_v2)
ABSENT4(cuMemcpyDtoA_v2, cuMemcpyDtoD_v2, cuMemcpyDtoH_v2, cuMemcpyHtoA_v2)
ABSENT(cuMemcpyHtoD_v2) ABSENT(cuMemcpyPeer) ABSENT(cuMemcpyPeerAsync)
ABSENT4(cuMemsetD16_v2, cuMemsetD2D16Async, cuMemsetD2D16_v2, cuMemsetD2D32Async)
ABSENT(cuMemsetD2D32_v2) ABSENT(cuMemsetD2D8Async) ABSENT(cuMemsetD2D8_v2)
ABSENT4(cuMemsetD32_v2, cuMemsetD8_v2, cuModuleGetGlobal_v2, cuModuleGetSurfRef)
ABSENT4(cuModuleGetTexRef, cuModuleLoad, cuParamSetSize, cuParamSetTexRef)
ABSENT4(cuParamSetf, cuParamSeti, cuParamSetv, cuProfilerInitialize)
ABSENT4(cuProfilerStart, cuProfilerStop, cuStreamAttachMemAsync, cuStreamWaitEvent)
ABSENT4(cuSurfRefGetArray, cuSurfRefSetArray, cuTexRefCreate, cuTexRefDestroy)
ABSENT4(cuTexRefGetAddressMode, cuTexRefGetAddress_v2, cuTexRefGetArray, cuTexRefGetFilterMode)
ABSENT4(cuTexRefGetFlags, cuTexRefGetFormat, cuTexRefSetAddress2D_v3, cuTexRefSetAddressMode)
ABSENT4(cuTexRefSetAddress_v2, cuTexRefSetArray, cuTexRefSetFilterMode, cuTexRefSetFlags)
ABSENT(cuTexRefSetFormat)
}
