/* The job that every contender starts: it notes when it began, and ends.
 *
 *     mark FILE LABEL
 *
 * appends two 64-bit numbers to FILE: the wall clock in nanoseconds as main() found it, and LABEL.
 * It is linked as usual, not statically: a job of yours has a dynamic linker to get past, too.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **words) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (count != 3)
        return 2;
    int64_t record[2] = {now.tv_sec * 1000000000LL + now.tv_nsec, atoll(words[2])};
    int file = open(words[1], O_WRONLY | O_APPEND | O_CREAT, 0600);
    return write(file, record, sizeof record) != sizeof record;
}
