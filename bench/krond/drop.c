/* The floor for jobs of another user: fork, drop groups, group and user, exec.
 *
 *     drop COUNT FIRST_NS UID GID PROGRAM FILE
 *
 * starts PROGRAM FILE FIRST_NS that many times at that moment, as that user with that one group. No
 * state, no log, no session, and nothing is verified but what the system calls return.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **words) {
    if (count != 7)
        return 2;
    long runs = atol(words[1]);
    long long due_ns = atoll(words[2]);
    uid_t uid = atol(words[3]);
    gid_t gid = atol(words[4]);
    char *command[] = {words[5], words[6], words[2], NULL};
    struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &due, NULL) == EINTR)
        ;
    for (long run = 0; run < runs; run++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (setgroups(1, &gid) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
                _exit(126);
            execv(command[0], command);
            _exit(127);
        }
        if (pid < 0) {
            perror("fork");
            return 1;
        }
    }
    int status, failed = 0;
    while (wait(&status) > 0)
        failed |= status;
    return failed ? 1 : 0;
}
