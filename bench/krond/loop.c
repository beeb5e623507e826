/* The floor: nothing but posix_spawn, from a process that is awake in time.
 *
 *     loop COUNT FIRST_NS EVERY_NS PROGRAM FILE [session]
 *
 * starts PROGRAM FILE LABEL that many times, each when it is due, where LABEL is the moment at which
 * it was due. EVERY_NS 0: all are due at once. No state, no log, and a session of its own for each
 * only with the last word, to show what that costs: krond and cron give their jobs one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

int main(int count, char **words) {
    if (count != 6 && count != 7)
        return 2;
    long runs = atol(words[1]);
    long long due_ns = atoll(words[2]), every_ns = atoll(words[3]);
    char label[24];
    char *command[] = {words[4], words[5], label, NULL};
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    if (count == 7)
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    for (long run = 0; run < runs; run++, due_ns += every_ns) {
        struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
        while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &due, NULL) == EINTR)
            ;
        snprintf(label, sizeof label, "%lld", due_ns);
        pid_t pid;
        int error = posix_spawn(&pid, words[4], NULL, &attributes, command, environ);
        if (error) {
            fprintf(stderr, "posix_spawn: error %d\n", error);
            return 1;
        }
        while (every_ns && waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}
