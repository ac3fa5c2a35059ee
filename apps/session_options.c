/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options that every program with two sides has: where the other side is, and which port leads to
 * it. Each refusal says how it should be.
 */
#include <arpa/inet.h>
#include <string.h>

#include "session.h"

enum {
	TCP_PORT = 18515, /* that of perftest */
};

const char uroce_session_help[] =
	"where the two sides are:\n"
	"  --loopback         both in this process and one thread (the default). Without EAL\n"
	"                     arguments over two ports in memory: no hugepages, no root. With\n"
	"                     EAL arguments over ports N and N+1 of --port-id N, which have to\n"
	"                     be tied to each other\n"
	"  --server           wait for a client, do what it asks for, exit\n"
	"  --client HOST      run the tests against the server on HOST\n"
	"  --port N           TCP port on which the two find each other (18515); the messages\n"
	"                     themselves go by RoCE, UDP port 4791\n"
	"  --cm               find each other by connection management instead of TCP: all of it\n"
	"                     goes by RoCE, HOST is the address of the server's endpoint, and N a\n"
	"                     port of its own. On both sides\n"
	"  --bind ADDR        address on which the server listens for TCP (all)\n"
	"  --keep             the server goes on with the next client, for ever\n"
	"  --port-id N        DPDK port (0)\n"
	"  --addr ADDR        IPv4 or IPv6 address of the endpoint on it (192.0.2.1/24 for a\n"
	"                     server, 192.0.2.2/24 for a client), of the same kind on both sides.\n"
	"                     192.0.2.1/24#100 is in VLAN 100: frames are sent with that tag, and\n"
	"                     only those that have it are taken; with #100:3 their priority is 3\n"
	"                     (a shell wants quotes only where # begins a word). It must not\n"
	"                     be one of the kernel's: on a shared interface the kernel would\n"
	"                     answer too\n"
	"  --exception-path NAME  make an interface of the kernel's of this name (a TAP), to\n"
	"                     which all goes that is not RoCE for this endpoint, and from which\n"
	"                     the kernel sends by the same port; it may have the endpoint's\n"
	"                     address. As root; not with --loopback\n"
	"  --workers N        workers of the endpoint, each on an lcore of its own (1); the first "
	"is\n"
	"                     the main one, which posts, too. Queue pairs are dealt out to them\n"
	"  --queues N         queues of the port, at most (one for each worker, where there are "
	"so\n"
	"                     many; on memif one, since both ends must have the same number)\n"
	"  --mtu M            at most this path MTU: 256, 512, 1024, 2048, 4096 (as large as both\n"
	"                     ports allow)\n"
	"how queue pairs of this side send:\n"
	"  --rate R           at most R bits a second each, headers included: 1G, 250M, 64K, "
	"powers\n"
	"                     of ten (no limit)\n"
	"  --dcqcn            let switches mark frames, and slow down when told of marks\n"
	"  --keepalive MS     ask a peer that was silent for MS milliseconds whether it is there;\n"
	"                     it must allow remote writes\n";

void uroce_session_options_init(struct uroce_session_options *options)
{
	*options = (struct uroce_session_options){.tcp_port = TCP_PORT};
}

/* ---- options ---- */

static bool set_role(struct uroce_session_options *options, enum uroce_session_role role)
{
	if (options->role_is_given && options->role != role) {
		uroce_app_say("--loopback, --server and --client exclude each other: give one");
		return false;
	}
	options->role_is_given = true;
	options->role = role;
	return true;
}

static bool set_loopback(void *context, const char *value)
{
	(void)value;
	return set_role(context, UROCE_SESSION_LOOPBACK);
}

static bool set_server(void *context, const char *value)
{
	(void)value;
	return set_role(context, UROCE_SESSION_SERVER);
}

static bool set_client(void *context, const char *value)
{
	struct uroce_session_options *options = context;

	options->host = value;
	return set_role(options, UROCE_SESSION_CLIENT);
}

static bool set_tcp_port(void *context, const char *value)
{
	struct uroce_session_options *options = context;
	uint64_t port;

	if (!uroce_count_parse(value, 1, 65535, &port)) {
		uroce_app_say("--port %s is no TCP port: it is a number from 1 to 65535", value);
		return false;
	}
	options->tcp_port = (uint16_t)port;
	return true;
}

static bool set_port_id(void *context, const char *value)
{
	struct uroce_session_options *options = context;
	uint64_t port;

	if (!uroce_count_parse(value, 0, 1023, &port)) {
		uroce_app_say("--port-id %s is no DPDK port: it is a number from 0 on", value);
		return false;
	}
	options->port_id = (uint16_t)port;
	return true;
}

/* Cuts what is behind the sign off the text; "" if there is none, NULL if there is nothing behind.
 */
static const char *cut(char *text, char sign)
{
	char *at = strchr(text, sign);

	if (!at)
		return "";
	*at = '\0';
	return at[1] ? at + 1 : NULL;
}

/* With or without prefix length, VLAN, priority. */
static bool is_addr(int family, const char *text)
{
	const char *prefix, *vlan, *priority = "";
	struct in6_addr parsed;
	char copy[80], *rest;
	uint64_t number;

	if (strlen(text) >= sizeof(copy))
		return false;
	memcpy(copy, text, strlen(text) + 1);
	rest = strchr(copy, '#');
	if (rest)
		priority = cut(rest, ':');
	vlan = cut(copy, '#');
	prefix = cut(copy, '/');
	return inet_pton(family, copy, &parsed) == 1 && prefix && vlan && priority &&
		(!*prefix || uroce_count_parse(prefix, 0, family == AF_INET ? 32 : 128, &number)) &&
		(!*vlan || uroce_count_parse(vlan, 1, 4094, &number)) &&
		(!*priority || uroce_count_parse(priority, 0, 7, &number));
}

static bool set_addr(void *context, const char *value)
{
	struct uroce_session_options *options = context;

	if (!is_addr(AF_INET, value) && !is_addr(AF_INET6, value)) {
		uroce_app_say("--addr %s is no IP address: it is like 192.0.2.1/24, "
			      "2001:db8::1/64 or, in VLAN 100, 192.0.2.1/24#100",
			value);
		return false;
	}
	options->addr = value;
	return true;
}

static bool set_exception_path(void *context, const char *value)
{
	struct uroce_session_options *options = context;

	if (!*value || strlen(value) > 15 || strpbrk(value, "/:% \t\n")) {
		uroce_app_say("--exception-path %s is no name for an interface: it takes 1 to 15 "
			      "characters, and no blank, \"/\", \":\" or \"%%\"",
			value);
		return false;
	}
	options->exception_path = value;
	return true;
}

static bool set_bind(void *context, const char *value)
{
	struct uroce_session_options *options = context;

	if (!is_addr(AF_INET, value) || strpbrk(value, "/#")) {
		uroce_app_say("--bind %s is no IPv4 address: it is like 127.0.0.1", value);
		return false;
	}
	options->bind = value;
	return true;
}

static bool set_mtu(void *context, const char *value)
{
	struct uroce_session_options *options = context;
	uint64_t mtu;

	if (!uroce_size_parse(value, 4096, &mtu) || mtu < 256 || (mtu & (mtu - 1))) {
		uroce_app_say("--mtu %s is no path MTU: it is 256, 512, 1024, 2048 or 4096", value);
		return false;
	}
	options->mtu_bytes = (uint16_t)mtu;
	return true;
}

static bool set_workers(void *context, const char *value)
{
	uint64_t count;

	if (!uroce_count_parse(value, 1, 16, &count)) {
		uroce_app_say("--workers %s is out of range: it is a number from 1 to 16", value);
		return false;
	}
	((struct uroce_session_options *)context)->workers = (uint16_t)count;
	return true;
}

static bool set_queues(void *context, const char *value)
{
	uint64_t count;

	if (!uroce_count_parse(value, 1, 16, &count)) {
		uroce_app_say("--queues %s is out of range: it is a number from 1 to 16", value);
		return false;
	}
	((struct uroce_session_options *)context)->queues = (uint16_t)count;
	return true;
}

static bool set_rate(void *context, const char *value)
{
	if (uroce_rate_parse(
		    value, &((struct uroce_session_options *)context)->pace.rate_limit_bps))
		return true;
	uroce_app_say("--rate %s is no rate: it is bits a second, from 1K to 8000G, like 250M or "
		      "1G",
		value);
	return false;
}

static bool set_dcqcn(void *context, const char *value)
{
	(void)value;
	((struct uroce_session_options *)context)->pace.dcqcn = true;
	return true;
}

static bool set_keepalive(void *context, const char *value)
{
	uint64_t ms;

	if (!uroce_count_parse(value, 1, UINT32_MAX, &ms)) {
		uroce_app_say("--keepalive %s is no time: it is milliseconds, from 1 on", value);
		return false;
	}
	((struct uroce_session_options *)context)->pace.keepalive_ms = (uint32_t)ms;
	return true;
}

static bool set_keep(void *context, const char *value)
{
	(void)value;
	((struct uroce_session_options *)context)->keep = true;
	return true;
}

static bool set_cm(void *context, const char *value)
{
	(void)value;
	((struct uroce_session_options *)context)->cm = true;
	return true;
}

static bool set_json(void *context, const char *value)
{
	(void)value;
	((struct uroce_session_options *)context)->json = true;
	return true;
}

static bool set_help(void *context, const char *value)
{
	(void)value;
	((struct uroce_session_options *)context)->help = true;
	return true;
}

const struct uroce_option uroce_session_table[] = {
	{"--loopback", NULL, set_loopback},
	{"--server", NULL, set_server},
	{"--client", "the server's name or address", set_client},
	{"--port", "a TCP port", set_tcp_port},
	{"--bind", "an IPv4 address", set_bind},
	{"--port-id", "the number of a DPDK port", set_port_id},
	{"--addr", "an IP address", set_addr},
	{"--exception-path", "a name for an interface", set_exception_path},
	{"--mtu", "a path MTU", set_mtu},
	{"--workers", "a number of workers", set_workers},
	{"--queues", "a number of queues", set_queues},
	{"--rate", "bits a second", set_rate},
	{"--dcqcn", NULL, set_dcqcn},
	{"--keepalive", "a number of milliseconds", set_keepalive},
	{"--keep", NULL, set_keep},
	{"--cm", NULL, set_cm},
	{"--json", NULL, set_json},
	{"--help", NULL, set_help},
	{"-h", NULL, set_help},
	{0},
};

bool uroce_session_options_check(
	const struct uroce_session_options *options, const struct uroce_arguments *arguments)
{
	if (options->role != UROCE_SESSION_LOOPBACK && !arguments->eal_argc) {
		uroce_app_say("%s needs a DPDK port that leads to the other side: give EAL "
			      "arguments before \"--\", for example %s --no-huge --no-pci -m 512 "
			      "--vdev=net_af_packet0,iface=veth0 -- ... (--help has more)",
			options->role == UROCE_SESSION_SERVER ? "--server" : "--client",
			uroce_app_name);
		return false;
	}
	if (options->role == UROCE_SESSION_LOOPBACK && options->addr) {
		uroce_app_say("--addr is for --server and --client; in one process the addresses "
			      "are " UROCE_SESSION_SERVER_ADDR " and " UROCE_SESSION_CLIENT_ADDR);
		return false;
	}
	if (options->role == UROCE_SESSION_LOOPBACK && options->exception_path) {
		uroce_app_say("--exception-path is for --server and --client: in one process no "
			      "kernel is on the link");
		return false;
	}
	if (options->role != UROCE_SESSION_SERVER && (options->keep || options->bind)) {
		uroce_app_say("%s is for --server", options->keep ? "--keep" : "--bind");
		return false;
	}
	if (options->cm && options->bind) {
		uroce_app_say("--bind is for TCP; with --cm the server listens on its --addr");
		return false;
	}
	return true;
}
