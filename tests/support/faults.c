/* A disk that fails on demand, for LD_PRELOAD: what RIVET_TEST_FAULT names says how, as long as that file is there.

   "sync 5": syncs of the journal end with error 5 (EIO); "write 28": its writes with 28 (ENOSPC);
   "before 3", "after 3": the process is killed before, or after, its third sync from then on;
   "slow 50": syncs take so many milliseconds more. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int syncs;

static int of_the_journal(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, "journal.db") != NULL;
}

static int fault(const char *kind) {
    char said[32];
    int number = 0;
    const char *name = getenv("RIVET_TEST_FAULT");
    FILE *file = name ? fopen(name, "r") : NULL;
    if (!file) return 0;
    if (fscanf(file, "%31s %d", said, &number) != 2 || strcmp(said, kind)) number = 0;
    fclose(file);
    return number;
}

static int synced(int fd, const char *name) {
    int (*real)(int) = dlsym(RTLD_NEXT, name);
    if (!of_the_journal(fd)) return real(fd);
    int before = fault("before"), after = fault("after"), slow = fault("slow");
    syncs = before || after ? syncs + 1 : 0;
    if (before && syncs >= before) kill(getpid(), SIGKILL);
    if (slow) usleep(slow * 1000);
    if ((errno = fault("sync"))) return -1;
    int result = real(fd);
    if (after && syncs >= after) kill(getpid(), SIGKILL);
    return result;
}

int fsync(int fd) { return synced(fd, "fsync"); }
int fdatasync(int fd) { return synced(fd, "fdatasync"); }

#define WRITE(name, offset)                                                         \
    ssize_t name(int fd, const void *data, size_t size, offset at) {                \
        ssize_t (*real)(int, const void *, size_t, offset) = dlsym(RTLD_NEXT, #name); \
        int failed = of_the_journal(fd) ? fault("write") : 0;                       \
        if ((errno = failed)) return -1;                                            \
        return real(fd, data, size, at);                                            \
    }
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)
