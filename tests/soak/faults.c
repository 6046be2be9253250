// Loaded before the C library: a clock that steps, a disk that is slow to sync, and names that do not resolve.
//
// SOAK_LEVERS names a file of three numbers: seconds that the clock is ahead, microseconds of each sync, and 1 while no name resolves.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile const long *levers;

__attribute__((constructor)) static void map_levers(void) {
    int file = open(getenv("SOAK_LEVERS"), O_RDONLY | O_CLOEXEC);
    void *mapped = mmap(NULL, 3 * sizeof(long), PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) abort();
    close(file);
    levers = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = syscall(SYS_clock_gettime, clock, time);
    if (levers && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += levers[0];
    return failed;
}

static void wait_for_disk(void) {
    if (levers[1]) usleep(levers[1]);
}

int fsync(int file) {
    wait_for_disk();
    return syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    wait_for_disk();
    return syscall(SYS_fdatasync, file);
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    if (levers[2]) return EAI_AGAIN;
    int (*resolve)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    return resolve(node, service, hints, found);
}
