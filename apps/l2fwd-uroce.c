/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * l2fwd-uroce: DPDK's layer-2 forwarder with a RoCE endpoint in it. An example to copy from.
 *
 * The forwarder owns its ports and its loop. On one port each burst goes through uroce_worker_rx,
 * which keeps what is RoCE for the endpoint, and what is left is forwarded; what uroce_worker_tx
 * gives is sent on that port. The counters lie in a page that peers read by RDMA READ: forwarding
 * never stops to be asked, and since one thread does both, a page that fits a packet is of one
 * moment. Peers and forwarder find each other by a line of text over TCP each way.
 *
 * One lcore does everything, so it alone uses each queue. With more of them give the endpoint a
 * transmit queue of its own, or send its frames from the lcore that has the port's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "l2fwd_page.h"

enum {
	BURST = 32,
	DESCS = 1024,
	MBUFS = 8191,
	PEERS_MAX = 16,
};

struct port {
	uint16_t id;
	struct rte_ether_addr mac;
	struct port *partner;
	struct l2fwd_counters *counters;
};

/* Who reads the page: as long as its TCP connection stands. */
struct peer {
	int fd; /* -1: nobody */
	struct uroce_qp *qp;
};

static struct options {
	uint64_t mask;
	const char *addr;
	unsigned int tcp_port, print_seconds, seconds;
	bool endpoint, update_macs;
} options = {UINT64_MAX, "192.0.2.1/24", L2FWD_TCP_PORT, 0, 0, true, true};

static struct l2fwd_page page;
static struct port ports[L2FWD_PORTS_MAX];
static unsigned int num_ports;
static volatile sig_atomic_t quit;

static struct endpoint {
	struct uroce_device *dev;
	struct uroce_worker *worker; /* NULL: there is no endpoint */
	struct uroce_pd *pd;
	struct uroce_cq *cq;
	struct uroce_mr *mr;
	int listener;
	struct peer peers[PEERS_MAX];
	struct rte_mbuf *unsent[BURST]; /* what its port did not take yet */
	uint16_t num_unsent;
} endpoint;

static const char help[] =
	"usage: l2fwd-uroce EAL-ARGUMENTS -- [OPTIONS]\n"
	"\n"
	"Forwards frames between pairs of ports, the first and the second, the third and the\n"
	"fourth, and is a RoCE endpoint on the first: peers read its counters by RDMA READ.\n"
	"\n"
	"  -p MASK            ports to forward between, hexadecimal (all)\n"
	"  -T SECONDS         print the counters so often (never)\n"
	"  --no-mac-updating  forward frames as they are, not to 02:00:00:00:00:PORT\n"
	"  --addr ADDR        address of the endpoint (192.0.2.1/24), not one of a kernel's. ARP\n"
	"                     for it, and pings, are answered; all other ARP is forwarded\n"
	"  --tcp-port N       where peers say who they are (18516)\n"
	"  --no-endpoint      forward and nothing else\n"
	"  --seconds S        end after S seconds (never)\n"
	"  --help             print this\n"
	"\n"
	"as root between eth1 and eth2, and on a machine behind eth1:\n"
	"  l2fwd-uroce --no-huge --no-pci -m 512 --vdev=net_af_packet0,iface=eth1 \\\n"
	"      --vdev=net_af_packet1,iface=eth2 -- --no-mac-updating -T 1\n"
	"  l2fwd-watch --no-huge --no-pci -m 512 --vdev=net_af_packet0,iface=eth0 -- FORWARDER\n"
	"\n"
	"exit status: 0 done; 1 something went wrong; 2 wrong arguments\n";

static void stop(int signal)
{
	quit = signal;
}

/* ---- the endpoint ---- */

static int listen_on(unsigned int tcp_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)tcp_port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, 4) != 0)
		rte_exit(EXIT_FAILURE, "TCP port %u: %s\n", tcp_port, strerror(errno));
	return fd;
}

/* The ports are ours and running; the page is memory that may be read, and nothing else. */
static void open_endpoint(void)
{
	const struct uroce_device_conf conf = {.port_id = ports[0].id,
		.addr = options.addr,
		.host_owns_port = true,
		.neighbours = true};
	struct endpoint *e = &endpoint;

	if (uroce_device_open(&conf, &e->dev) != 0 || uroce_pd_create(e->dev, &e->pd) != 0 ||
		uroce_cq_create(e->dev, 2 * PEERS_MAX, &e->cq) != 0 ||
		uroce_mr_register(e->pd, &page, sizeof(page), UROCE_ACCESS_REMOTE_READ, &e->mr) !=
			0)
		rte_exit(EXIT_FAILURE, "there can be no endpoint %s\n", options.addr);
	e->worker = uroce_device_worker(e->dev, 0);
	e->listener = listen_on(options.tcp_port);
	for (int i = 0; i < PEERS_MAX; i++)
		e->peers[i].fd = -1;
}

static void part_from(struct peer *peer)
{
	if (peer->qp)
		uroce_qp_destroy(peer->qp);
	close(peer->fd);
	*peer = (struct peer){.fd = -1};
}

/* A queue pair for who has sent its record; the record of it goes back. */
static bool welcome(struct peer *peer, const char *line)
{
	const struct uroce_qp_conf conf = {
		.send_cq = endpoint.cq, .recv_cq = endpoint.cq, .max_send_wr = 1, .max_recv_wr = 1};
	char answer[L2FWD_LINE_BYTES];
	struct uroce_peer theirs, ours;

	if (!l2fwd_record_read(line, &theirs))
		return false;
	theirs.access = UROCE_ACCESS_REMOTE_READ;
	if (uroce_qp_create(endpoint.pd, &conf, &peer->qp) != 0 ||
		uroce_qp_connect(peer->qp, &theirs) != 0)
		return false;
	uroce_qp_local(peer->qp, &ours);
	ours.addr = (uintptr_t)&page;
	ours.rkey = endpoint.mr->rkey;
	l2fwd_record_write(answer, &ours);
	return send(peer->fd, answer, strlen(answer), MSG_NOSIGNAL) == (ssize_t)strlen(answer);
}

/* One line, that comes in one piece; who says more, or leaves, is done with. */
static void hear(struct peer *peer)
{
	char line[L2FWD_LINE_BYTES];
	ssize_t n = recv(peer->fd, line, sizeof(line) - 1, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	line[n > 0 ? n : 0] = 0;
	if (n <= 0 || peer->qp || !welcome(peer, line))
		part_from(peer);
}

static void look_at_peers(void)
{
	struct peer *unused = NULL;

	for (int i = 0; i < PEERS_MAX; i++) {
		struct peer *peer = &endpoint.peers[i];

		if (peer->fd >= 0)
			hear(peer);
		else
			unused = peer;
	}
	if (unused)
		unused->fd = accept4(endpoint.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static void close_endpoint(void)
{
	struct endpoint *e = &endpoint;

	for (int i = 0; i < PEERS_MAX; i++)
		if (e->peers[i].fd >= 0)
			part_from(&e->peers[i]);
	rte_pktmbuf_free_bulk(e->unsent, e->num_unsent);
	uroce_mr_deregister(e->mr);
	uroce_cq_destroy(e->cq);
	uroce_pd_destroy(e->pd);
	uroce_device_close(e->dev);
}

/* ---- forwarding ---- */

/* Layer 2 as DPDK's example has it: the next hop's MAC is made up of the port's number. */
static void update_macs(struct rte_mbuf *mbuf, const struct port *to)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(mbuf, struct rte_ether_hdr *);

	eth->dst_addr = (struct rte_ether_addr){{2, 0, 0, 0, 0, (uint8_t)to->id}};
	eth->src_addr = to->mac;
}

static void forward(struct port *to, struct rte_mbuf **burst, uint16_t n)
{
	uint16_t sent;

	for (uint16_t i = 0; options.update_macs && i < n; i++)
		update_macs(burst[i], to);
	sent = rte_eth_tx_burst(to->id, 0, burst, n);
	to->counters->forwarded += sent;
	to->counters->dropped += n - sent;
	rte_pktmbuf_free_bulk(burst + sent, n - sent);
}

/* What the endpoint has to send; what the port does not take waits, and less is asked for. */
static void send_endpoint(struct port *to)
{
	struct endpoint *e = &endpoint;
	uint16_t sent;

	e->num_unsent += uroce_worker_tx(
		e->worker, e->unsent + e->num_unsent, (uint16_t)(BURST - e->num_unsent));
	sent = rte_eth_tx_burst(to->id, 0, e->unsent, e->num_unsent);
	to->counters->endpoint_out += sent;
	e->num_unsent -= sent;
	memmove(e->unsent, e->unsent + sent, e->num_unsent * sizeof(e->unsent[0]));
}

static void turn(void)
{
	struct rte_mbuf *burst[BURST];

	for (unsigned int i = 0; i < num_ports; i++) {
		struct port *port = &ports[i];
		uint16_t n = rte_eth_rx_burst(port->id, 0, burst, BURST), left = n;

		port->counters->received += n;
		/* Also when nothing came: that is how the endpoint knows. */
		if (i == 0 && endpoint.worker)
			left = uroce_worker_rx(endpoint.worker, burst, n);
		port->counters->endpoint_in += n - left;
		if (left > 0)
			forward(port->partner, burst, left);
	}
	if (endpoint.worker)
		send_endpoint(&ports[0]);
}

static void run(void)
{
	const uint64_t hz = rte_get_timer_hz(), start = rte_get_timer_cycles();
	uint64_t now = start, look = start, print = start, all = 0;

	while (!quit && !(options.seconds && now - start >= options.seconds * hz)) {
		turn();
		now = rte_get_timer_cycles();
		if (endpoint.worker && now >= look) {
			look_at_peers();
			look = now + hz / 100;
		}
		if (options.print_seconds && now >= print) {
			l2fwd_page_print(&page);
			print = now + options.print_seconds * hz;
		}
	}
	for (unsigned int i = 0; i < num_ports; i++)
		all += page.ports[i].forwarded;
	printf("%" PRIu64 " frames forwarded in %.3f seconds, %.3f Mframes/s\n", all,
		(double)(now - start) / (double)hz,
		(double)all * (double)hz / 1e6 / (double)(now - start));
}

static void set_up_port(struct port *port, struct rte_mempool *pool)
{
	struct rte_eth_conf conf = {0};
	uint16_t rx_descs = DESCS, tx_descs = DESCS;

	if (rte_eth_dev_configure(port->id, 1, 1, &conf) != 0 ||
		rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &rx_descs, &tx_descs) != 0 ||
		rte_eth_rx_queue_setup(port->id, 0, rx_descs, SOCKET_ID_ANY, NULL, pool) != 0 ||
		rte_eth_tx_queue_setup(port->id, 0, tx_descs, SOCKET_ID_ANY, NULL) != 0 ||
		rte_eth_dev_start(port->id) != 0 || rte_eth_macaddr_get(port->id, &port->mac) != 0)
		rte_exit(EXIT_FAILURE, "port %u cannot be set up\n", port->id);
	/* Frames to others are what is forwarded; a port that cannot be so hears them all. */
	rte_eth_promiscuous_enable(port->id);
}

static void set_up_ports(void)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		"l2fwd", MBUFS, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	uint16_t id;

	RTE_ETH_FOREACH_DEV(id)
	{
		if (id < 64 && options.mask & UINT64_C(1) << id && num_ports < L2FWD_PORTS_MAX)
			ports[num_ports++].id = id;
	}
	if (!pool || num_ports == 0 || num_ports % 2)
		rte_exit(EXIT_FAILURE, "%u ports of %x: it takes an even number, and memory\n",
			num_ports, (unsigned int)options.mask);
	page.num_ports = num_ports;
	for (unsigned int i = 0; i < num_ports; i++) {
		ports[i].counters = &page.ports[i];
		ports[i].partner = &ports[i ^ 1];
		set_up_port(&ports[i], pool);
	}
}

/* ---- the command line ---- */

static int usage(const char *wrong)
{
	fprintf(stderr, "l2fwd-uroce: %s; --help explains\n", wrong);
	return 2;
}

/* Digits of the base and nothing else, at most max. */
static bool parse(const char *text, int base, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, base);
	return text[0] >= '0' && !*end && errno == 0 && *value <= max;
}

static int parse_options(int argc, char **argv)
{
	static const struct option names[] = {{"no-mac-updating", 0, NULL, 'm'},
		{"addr", 1, NULL, 'a'}, {"tcp-port", 1, NULL, 't'}, {"no-endpoint", 0, NULL, 'n'},
		{"seconds", 1, NULL, 's'}, {0}};
	uint64_t value = 0;
	int c;

	while ((c = getopt_long(argc, argv, "p:T:", names, NULL)) != -1) {
		if (strchr("Tts", c) && !parse(optarg, 10, 65535, &value))
			return usage("-T, --tcp-port and --seconds take a number up to 65535");
		if (c == 'p' && !parse(optarg, 16, UINT64_MAX, &options.mask))
			return usage("-p takes a hexadecimal mask");
		if (c == 'T')
			options.print_seconds = (unsigned int)value;
		else if (c == 't')
			options.tcp_port = (unsigned int)value;
		else if (c == 's')
			options.seconds = (unsigned int)value;
		else if (c == 'a')
			options.addr = optarg;
		else if (c == 'm')
			options.update_macs = false;
		else if (c == 'n')
			options.endpoint = false;
		else if (c != 'p')
			return usage("no such option, or its value is missing");
	}
	return optind < argc ? usage("it takes options and nothing else") : 0;
}

int main(int argc, char **argv)
{
	int eaten, status;

	if (argc > 1 && strcmp(argv[argc - 1], "--help") == 0)
		return printf("%s", help) < 0;
	eaten = rte_eal_init(argc, argv);
	if (eaten < 0)
		return usage("EAL would not start");
	status = parse_options(argc - eaten, argv + eaten);
	if (status != 0)
		return status;
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	set_up_ports();
	if (options.endpoint)
		open_endpoint();
	run();
	if (options.endpoint)
		close_endpoint();
	for (unsigned int i = 0; i < num_ports; i++)
		rte_eth_dev_stop(ports[i].id);
	rte_eal_cleanup();
	return 0;
}
