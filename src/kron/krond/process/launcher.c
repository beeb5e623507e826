/* The launcher: takes the last steps between krond and the program of a run, in its place.
 *
 *     launcher REPORT LOCKS STEP... program WORD...
 *
 * krond spawns it for a run with a user, limits or a niceness of its own: it is born small, however
 * big krond is. `launched.py` starts it, `steps.py` has the steps. If one fails, the launcher writes
 * "ERROR STEP" (the kernel's number for the error, and that of the step) to the descriptor REPORT,
 * and nothing is executed. Once the program begins, REPORT and LOCKS (descriptors with commas
 * between them) are closed.
 *
 * It runs as root, with an environment that is not root's. So it has no C library that might look
 * at it: no loader, no locale, no tunables. Only the kernel is called.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall launch\n\thlt\n");

static long call5(long number, long a, long b, long c, long d, long e) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x0, sp\n\tbl launch\n");

static long call5(long number, long a, long b, long c, long d, long e) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
                     : "memory");
    return x0;
}
#else
#error "the launcher knows no system calls of this machine; without it krond forks"
#endif

#define CALL(number, a, b, c) call5(number, (long)(a), (long)(b), (long)(c), 0, 0)

enum { MOST_NUMBERS = 65536, LONGEST_PATH = 4096 };

static uint32_t numbers[MOST_NUMBERS], own_groups[MOST_NUMBERS];
static char found[LONGEST_PATH];

/* Words and numbers */

static int same(const char *one, const char *other) {
    while (*one && *one == *other)
        one++, other++;
    return *one == *other;
}

/* The number that the word at *text begins with; *text is then behind it. 0 with EINVAL in *error:
 * it begins with none, or with one that has more than 64 bits. */
static uint64_t number(const char **text, long *error) {
    int is_negative = **text == '-';
    const char *first = *text += is_negative;
    uint64_t value = 0;
    for (; **text >= '0' && **text <= '9'; ++*text)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(**text - '0'), &value))
            *error = -EINVAL;
    if (*text == first)
        *error = -EINVAL;
    return *error ? 0 : is_negative ? -value : value;
}

/* A word that is a number and nothing else. */
static uint64_t whole(const char *word, long *error) {
    uint64_t value = number(&word, error);
    if (*word)
        *error = -EINVAL;
    return value;
}

/* The numbers of a word with commas between them, in `numbers`; how many they are. */
static long listed(const char *word, long *error) {
    long count = 0;
    while (*word && !*error) {
        if (count == MOST_NUMBERS)
            *error = -EINVAL;
        else
            numbers[count++] = number(&word, error);
        if (*word == ',')
            word++;
        else if (*word)
            *error = -EINVAL;
    }
    return count;
}

/* Steps: 0, or the kernel's negative error */

static long write_zero(const char *file) {
    long descriptor = CALL(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
        return descriptor;
    long written = CALL(SYS_write, descriptor, "0", 1);
    CALL(SYS_close, descriptor, 0, 0);
    return written < 0 ? written : 0;
}

static long limit(uint64_t resource, uint64_t soft, uint64_t hard) {
    uint64_t both[2] = {soft, hard};
    return call5(SYS_prlimit64, 0, resource, (long)both, 0, 0);
}

static long has_capabilities(void) {
    struct {
        uint32_t version;
        int pid;
    } header = {0x20080522, 0};
    struct {
        uint32_t effective, permitted, inheritable;
    } sets[2];
    long error = CALL(SYS_capget, &header, sets, 0);
    return error ? error : sets[0].permitted || sets[1].permitted;
}

/* Whether `wanted` is one of the `numbers`, which are sorted. */
static int is_listed(uint32_t wanted, long count) {
    long first = 0;
    while (first < count) {
        long middle = first + (count - first) / 2;
        if (numbers[middle] == wanted)
            return 1;
        if (numbers[middle] < wanted)
            first = middle + 1;
        else
            count = middle;
    }
    return 0;
}

/* Check the result instead of trusting the system calls. The groups wanted are the `numbers`. The
 * kernel has each of them once, in an order of its own where a user namespace maps them. */
static long verify(uint32_t uid, uint32_t gid, long count) {
    uint32_t ids[6];
    long error = CALL(SYS_getresuid, &ids[0], &ids[1], &ids[2]);
    if (!error)
        error = CALL(SYS_getresgid, &ids[3], &ids[4], &ids[5]);
    if (error)
        return error;
    for (int each = 0; each < 3; each++)
        if (ids[each] != uid || ids[3 + each] != gid)
            return -EPERM;
    if (CALL(SYS_getgroups, MOST_NUMBERS, own_groups, 0) != count)
        return -EPERM;
    for (long each = 0; each < count; each++)
        if (!is_listed(own_groups[each], count))
            return -EPERM;
    if (uid == 0)
        return 0;
    if (CALL(SYS_setuid, 0, 0, 0) != -EPERM)
        return -EPERM;
    return has_capabilities() ? -EPERM : 0;
}

/* Enter it, or the root if it may lack and does. */
static long enter(const char *directory, int may_lack) {
    long error = CALL(SYS_chdir, directory, 0, 0);
    if (may_lack && (error == -ENOENT || error == -ENOTDIR || error == -EACCES))
        return CALL(SYS_chdir, "/", 0, 0);
    return error;
}

static long look_at(const char *file, struct stat *status) {
    return call5(SYS_newfstatat, AT_FDCWD, (long)file, (long)status, 0, 0);
}

static int is_kind(const char *file, unsigned kind) {
    struct stat status;
    return !look_at(file, &status) && (status.st_mode & S_IFMT) == kind;
}

static int exists(const char *file) {
    struct stat status;
    return !look_at(file, &status);
}

/* Find the file of a program: the name itself if it has a slash, else the first one in the path. */
static long search(const char *name, const char *path, const char **file) {
    *file = name;
    for (const char *each = name; *each; each++)
        if (*each == '/')
            return 0;
    long error = -ENOENT;
    *file = found;
    for (;; path++) {
        int length = 0;
        const char *directory = *path && *path != ':' ? path : ".";
        for (; *directory && *directory != ':' && length < LONGEST_PATH; directory++)
            found[length++] = *directory;
        while (*path && *path != ':')
            path++;
        if (length < LONGEST_PATH)
            found[length++] = '/';
        for (const char *each = name; *each && length < LONGEST_PATH; each++)
            found[length++] = *each;
        if (length < LONGEST_PATH) { /* else the kernel would not take it either */
            found[length] = 0;
            int may_execute = !CALL(SYS_faccessat, AT_FDCWD, found, 1);
            if (may_execute && is_kind(found, S_IFREG))
                return 0;
            if (may_execute || exists(found))
                error = -EACCES;
        }
        if (!*path)
            return error;
    }
}

/* Execute it. ENOENT and EACCES have several causes: report the most precise error. */
static long execute(const char *file, char **words, char **environment) {
    long error = CALL(SYS_execve, file, words, environment);
    if (error == -ENOENT && exists(file))
        return -ELIBACC;
    if (error == -EACCES && is_kind(file, S_IFDIR))
        return -EISDIR;
    return error;
}

/* All of them */

/* Take the step that is at *words, and move *words behind it. */
static long take(char ***words, const char **file, char **environment) {
    long error = 0, result = -EINVAL;
    char **given = *words;
    const char *step = given[0], *first = given[0] ? given[1] : 0;
    if (!first)
        return -EINVAL;
    *words += 2;
    if (same(step, "cgroup")) {
        result = write_zero(first);
    } else if (same(step, "nice")) {
        uint64_t value = whole(first, &error);
        result = error ? error : CALL(SYS_setpriority, 0, 0, value);
    } else if (same(step, "groups")) {
        long count = listed(first, &error);
        result = error ? error : CALL(SYS_setgroups, count, numbers, 0);
    } else if (same(step, "group")) {
        uint64_t gid = whole(first, &error);
        result = error ? error : CALL(SYS_setresgid, gid, gid, gid);
    } else if (same(step, "user")) {
        uint64_t uid = whole(first, &error);
        result = error ? error : CALL(SYS_setresuid, uid, uid, uid);
    } else if (same(step, "umask")) {
        uint64_t mask = whole(first, &error);
        result = error ? error : CALL(SYS_umask, mask, 0, 0) < 0;
    } else if (same(step, "directory") || same(step, "directory-or-root")) {
        result = enter(first, same(step, "directory-or-root"));
    } else if (same(step, "program")) {
        result = execute(*file, given + 1, environment);
    } else if (given[2] && same(step, "search")) {
        *words += 1;
        result = search(first, given[2], file);
    } else if (given[2] && given[3]) {
        *words += 2;
        uint64_t one = whole(first, &error), two = whole(given[2], &error);
        if (same(step, "limit")) {
            uint64_t hard = whole(given[3], &error);
            result = error ? error : limit(one, two, hard);
        } else if (same(step, "verify")) {
            long count = listed(given[3], &error);
            result = error ? error : verify(one, two, count);
        }
    }
    return result;
}

static char *decimal(char *end, unsigned long value) {
    do
        *--end = '0' + value % 10;
    while (value /= 10);
    return end;
}

static void report(long descriptor, long error, long step) {
    char text[48], *last = text + sizeof text;
    char *begin = decimal(last, step);
    *--begin = ' ';
    begin = decimal(begin, -error);
    CALL(SYS_write, descriptor, begin, last - begin);
}

__attribute__((noreturn, used)) void launch(long *stack) {
    long count = stack[0], error = 0, step = 0;
    char **words = (char **)(stack + 1), **environment = words + count + 1;
    const char *file = "";
    if (count < 4)
        CALL(SYS_exit_group, 126, 0, 0);
    long to = whole(words[1], &error);
    if (error || CALL(SYS_fcntl, to, F_SETFD, FD_CLOEXEC))
        CALL(SYS_exit_group, 126, 0, 0);
    long locks = listed(words[2], &error);
    for (long lock = 0; lock < locks && !error; lock++)
        error = CALL(SYS_fcntl, numbers[lock], F_SETFD, FD_CLOEXEC);
    for (words += 3; !error; step++)
        error = take(&words, &file, environment);
    report(to, error, step - (step > 0));
    for (;;)
        CALL(SYS_exit_group, 127, 0, 0);
}
