/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guest's agent: runs shell commands for whoever connects by TCP.
 *
 * A connection is a command: its first line is the shell's text; the rest of the connection is the
 * command's standard input, and what it prints goes back. When it ends the connection is closed;
 * when the connection is closed first, it is killed with all its children. It knows nothing of
 * what it runs, and of RDMA nothing.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PORT = 4000,
	LINE_BYTES_MAX = 65536
};

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

/* The first line, a byte at a time: what follows is not ours to read. */
static void read_line(int fd, char *line)
{
	int n = 0;

	while (n < LINE_BYTES_MAX - 1 && read(fd, line + n, 1) == 1 && line[n] != '\n')
		n++;
	line[n] = 0;
}

static _Noreturn void run(int fd, const char *line)
{
	setsid();
	dup2(fd, 0);
	dup2(fd, 1);
	dup2(fd, 2);
	closefrom(3);
	execl("/bin/sh", "sh", "-c", line, (char *)NULL);
	die("sh");
}

/* Waits for the end of the command or of the connection. */
static void serve(int fd)
{
	static char line[LINE_BYTES_MAX];
	struct pollfd gone = {.fd = fd, .events = POLLRDHUP};
	pid_t pid;

	read_line(fd, line);
	signal(SIGCHLD, SIG_DFL);
	pid = fork();
	if (pid == 0)
		run(fd, line);
	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (poll(&gone, 1, 10) > 0) {
			kill(-pid, SIGKILL);
			waitpid(pid, NULL, 0);
			break;
		}
	}
	shutdown(fd, SHUT_RDWR);
}

int main(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	signal(SIGCHLD, SIG_IGN);
	if (listener < 0 || bind(listener, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
		listen(listener, 16) != 0)
		die("agent");
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			continue;
		if (fork() == 0) {
			close(listener);
			serve(fd);
			exit(0);
		}
		close(fd);
	}
}
