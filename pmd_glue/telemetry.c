/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telemetry.
 *
 * Runs in DPDK's telemetry thread: takes the device's control lock, so that no queue pair goes away
 * meanwhile, and reads what the workers write with relaxed loads: each number is whole, and two
 * numbers may be of different moments. Names are those of hardware counters where they exist.
 */
#include "telemetry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_telemetry.h>

#include "gid_text.h"

#define LOOK(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uroce_telemetry_device *devices;

void uroce_telemetry_add(struct uroce_telemetry_device *device)
{
	pthread_mutex_lock(&devices_lock);
	device->next = devices;
	devices = device;
	pthread_mutex_unlock(&devices_lock);
}

void uroce_telemetry_remove(struct uroce_telemetry_device *device)
{
	struct uroce_telemetry_device **link = &devices;

	pthread_mutex_lock(&devices_lock);
	while (*link && *link != device)
		link = &(*link)->next;
	if (*link)
		*link = device->next;
	pthread_mutex_unlock(&devices_lock);
}

bool uroce_telemetry_has_port(uint16_t port_id)
{
	const struct uroce_telemetry_device *d;

	pthread_mutex_lock(&devices_lock);
	for (d = devices; d && !(d->port && d->port->id == port_id); d = d->next)
		;
	pthread_mutex_unlock(&devices_lock);
	return d != NULL;
}

/* ---- counters and drop reasons, summed over everything ---- */

static uint64_t sum_counter(size_t offset)
{
	uint64_t sum = 0;

	for (const struct uroce_telemetry_device *d = devices; d; d = d->next)
		for (uint32_t i = 0; i < d->num_cores; i++) {
			const uint8_t *counters = (const uint8_t *)&d->cores[i]->counters;

			sum += LOOK(*(const uint64_t *)(const void *)(counters + offset));
		}
	return sum;
}

static int tell_counters(const char *cmd, const char *params, struct rte_tel_data *data)
{
	RTE_SET_USED(cmd);
	RTE_SET_USED(params);
	rte_tel_data_start_dict(data);
	pthread_mutex_lock(&devices_lock);
#define TELL(name, help) \
	rte_tel_data_add_dict_u64(data, #name, sum_counter(offsetof(struct uroce_counters, name)));
	UROCE_COUNTERS(TELL)
#undef TELL
	pthread_mutex_unlock(&devices_lock);
	return 0;
}

static int tell_drops(const char *cmd, const char *params, struct rte_tel_data *data)
{
	RTE_SET_USED(cmd);
	RTE_SET_USED(params);
	rte_tel_data_start_dict(data);
	pthread_mutex_lock(&devices_lock);
#define TELL(name, handed_back, text) \
	rte_tel_data_add_dict_u64(data, #name, \
		sum_counter(offsetof(struct uroce_counters, drops) + \
			UROCE_DROP_##name * sizeof(uint64_t)));
	UROCE_DROP_REASONS(TELL)
#undef TELL
	pthread_mutex_unlock(&devices_lock);
	return 0;
}

/* ---- ports ---- */

static void tell_poller(struct rte_tel_data *port, const struct uroce_poller *poller)
{
	const struct uroce_poller_counters *c = &poller->counters;

	rte_tel_data_add_dict_u64(port, "rx_linearised", LOOK(c->rx_linearised));
	rte_tel_data_add_dict_u64(port, "rx_no_buffer", LOOK(c->rx_no_buffer));
	rte_tel_data_add_dict_u64(port, "rx_not_ours", LOOK(c->rx_not_ours));
	rte_tel_data_add_dict_u64(port, "looped", LOOK(c->looped));
	rte_tel_data_add_dict_u64(port, "tx_kept", LOOK(c->tx_kept));
	rte_tel_data_add_dict_u64(port, "tx_refused", LOOK(c->tx_refused));
	rte_tel_data_add_dict_u64(port, "tx_no_buffer", LOOK(c->tx_no_buffer));
	rte_tel_data_add_dict_u64(port, "handover_full", LOOK(c->handover_full));
	rte_tel_data_add_dict_u64(port, "relayed", LOOK(c->relayed));
	if (!poller->conf.exception)
		return;
	rte_tel_data_add_dict_string(port, "exception_path", poller->conf.exception->name);
	rte_tel_data_add_dict_u64(port, "kernel_rx", LOOK(c->kernel_rx));
	rte_tel_data_add_dict_u64(port, "kernel_tx", LOOK(c->kernel_tx));
	rte_tel_data_add_dict_u64(port, "kernel_full", LOOK(c->kernel_full));
	rte_tel_data_add_dict_u64(port, "kernel_cut", LOOK(c->kernel_cut));
}

/* The first, and all of them. */
static void tell_addrs(struct rte_tel_data *port, const struct uroce_local *local)
{
	struct rte_tel_data *all = rte_tel_data_alloc();
	char text[UROCE_ADDR_TEXT_BYTES];

	if (!all)
		return;
	rte_tel_data_start_array(all, RTE_TEL_STRING_VAL);
	for (uint32_t i = 0; i < local->num_addrs; i++) {
		uroce_addr_text(local->addrs[i], local->vlans[i], text);
		if (i == 0)
			rte_tel_data_add_dict_string(port, "addr", text);
		rte_tel_data_add_array_string(all, text);
	}
	rte_tel_data_add_dict_container(port, "addrs", all, 0);
}

static void tell_port(struct rte_tel_data *data, const struct uroce_telemetry_device *device)
{
	const struct uroce_local *local = &device->cores[0]->conf.local;
	char text[40];

	for (uint32_t i = 0; i < device->num_cores; i++) {
		struct rte_tel_data *port = rte_tel_data_alloc();

		if (!port)
			return;
		rte_tel_data_start_dict(port);
		tell_addrs(port, local);
		uroce_mac_text(local->mac, text);
		rte_tel_data_add_dict_string(port, "mac", text);
		rte_tel_data_add_dict_u64(port, "active_mtu_bytes", device->port->active_mtu_bytes);
		rte_tel_data_add_dict_u64(port, "linux_mtu_bytes", device->port->linux_mtu_bytes);
		rte_tel_data_add_dict_u64(port, "queue_pairs", LOOK(device->cores[i]->num_qps));
		if (device->pollers[i])
			tell_poller(port, device->pollers[i]);
		snprintf(text, sizeof(text), "port_%u_worker_%u", device->port->id, i);
		rte_tel_data_add_dict_container(data, text, port, 0);
	}
}

static int tell_ports(const char *cmd, const char *params, struct rte_tel_data *data)
{
	RTE_SET_USED(cmd);
	RTE_SET_USED(params);
	rte_tel_data_start_dict(data);
	pthread_mutex_lock(&devices_lock);
	for (const struct uroce_telemetry_device *d = devices; d; d = d->next)
		if (d->port)
			tell_port(data, d);
	pthread_mutex_unlock(&devices_lock);
	return 0;
}

/* ---- queue pairs ---- */

static int tell_qp_list(const char *cmd, const char *params, struct rte_tel_data *data)
{
	RTE_SET_USED(cmd);
	RTE_SET_USED(params);
	rte_tel_data_start_array(data, RTE_TEL_U64_VAL);
	pthread_mutex_lock(&devices_lock);
	for (const struct uroce_telemetry_device *d = devices; d; d = d->next) {
		pthread_mutex_lock(d->lock);
		for (uint32_t i = 0; i <= d->qptable->mask; i++) {
			uint32_t qpn = atomic_load(&d->qptable->slots[i].qpn);

			if (qpn)
				rte_tel_data_add_array_u64(data, qpn);
		}
		pthread_mutex_unlock(d->lock);
	}
	pthread_mutex_unlock(&devices_lock);
	return 0;
}

static void tell_qp(struct rte_tel_data *data, const struct uroce_qp *qp)
{
	static const char *const types[] = {
		[UROCE_QP_RC] = "RC", [UROCE_QP_UC] = "UC", [UROCE_QP_UD] = "UD"};
	static const char *const states[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
#define DROP_NAME(name, handed_back, text) [UROCE_DROP_##name] = #name,
	static const char *const drops[UROCE_DROP_COUNT] = {
		[UROCE_ACCEPTED] = "none", UROCE_DROP_REASONS(DROP_NAME)};
#undef DROP_NAME

	rte_tel_data_add_dict_string(data, "type", types[qp->caps.type]);
	rte_tel_data_add_dict_u64(data, "shared_receive_queue", qp->srq != NULL);
	rte_tel_data_add_dict_string(data, "state", states[LOOK(qp->state)]);
	rte_tel_data_add_dict_u64(data, "lqpn", qp->qpn);
	rte_tel_data_add_dict_u64(data, "rqpn", LOOK(qp->attr.dest_qpn));
	rte_tel_data_add_dict_u64(data, "sq_psn", LOOK(qp->req.psn_next));
	rte_tel_data_add_dict_u64(data, "una_psn", LOOK(qp->req.psn_una));
	rte_tel_data_add_dict_u64(data, "rq_psn", LOOK(qp->resp.epsn));
	rte_tel_data_add_dict_u64(data, "msn", LOOK(qp->resp.msn));
	rte_tel_data_add_dict_u64(data, "path_mtu_bytes", LOOK(qp->attr.path_mtu_bytes));
	rte_tel_data_add_dict_u64(
		data, "sends_outstanding", LOOK(qp->req.tail) - LOOK(qp->req.head));
	rte_tel_data_add_dict_u64(data, "retry_timeout_ns", LOOK(qp->ack_timeout_ns));
	rte_tel_data_add_dict_u64(data, "timeouts", LOOK(qp->report.timeouts));
	rte_tel_data_add_dict_u64(data, "error_status", LOOK(qp->report.status));
	rte_tel_data_add_dict_u64(data, "frames_dropped", LOOK(qp->report.drops));
	rte_tel_data_add_dict_string(data, "last_drop", drops[LOOK(qp->report.drop)]);
}

/* The answer for one number; false if no device has it. */
static bool tell_qp_of(
	struct rte_tel_data *data, const struct uroce_telemetry_device *device, uint32_t qpn)
{
	struct uroce_qp *qp;
	uint32_t owner;
	bool found;

	pthread_mutex_lock(device->lock);
	found = uroce_qptable_find(device->qptable, qpn, &qp, &owner);
	if (found)
		tell_qp(data, qp);
	pthread_mutex_unlock(device->lock);
	return found;
}

static int tell_qp_info(const char *cmd, const char *params, struct rte_tel_data *data)
{
	const struct uroce_telemetry_device *d;
	uint32_t qpn;

	RTE_SET_USED(cmd);
	if (!params || !*params)
		return -EINVAL;
	qpn = (uint32_t)strtoul(params, NULL, 0);
	rte_tel_data_start_dict(data);
	pthread_mutex_lock(&devices_lock);
	for (d = devices; d && !tell_qp_of(data, d, qpn); d = d->next)
		;
	pthread_mutex_unlock(&devices_lock);
	return d ? 0 : -ENOENT;
}

/* ---- neighbours ---- */

static void tell_neigh_counters(struct rte_tel_data *data, const struct uroce_neigh_counters *c)
{
#define TELL(name, text) rte_tel_data_add_dict_u64(data, #name, LOOK(c->name));
	UROCE_NEIGH_COUNTERS(TELL)
#undef TELL
}

/* "192.0.2.1 02:00:00:00:00:01 known": an address is no name for an entry of a dictionary. */
static void tell_neighbour(struct rte_tel_data *data, const struct uroce_neigh_entry *e)
{
	static const char *const states[] = {"asked", "known", "doubted", "static"};
	char addr[UROCE_ADDR_TEXT_BYTES], mac[UROCE_MAC_TEXT_BYTES], text[96];

	uroce_addr_text(e->hop.addr, e->hop.vlan, addr);
	uroce_mac_text(e->mac, mac);
	snprintf(text, sizeof(text), "%s %s %s", addr, mac, states[e->state]);
	rte_tel_data_add_array_string(data, text);
}

static void tell_neighbours_of(struct rte_tel_data *data, const struct uroce_telemetry_device *d)
{
	struct rte_tel_data *port = rte_tel_data_alloc(), *entries = rte_tel_data_alloc();
	char name[16];

	if (!port || !entries) {
		rte_tel_data_free(port);
		rte_tel_data_free(entries);
		return;
	}
	rte_tel_data_start_dict(port);
	rte_tel_data_start_array(entries, RTE_TEL_STRING_VAL);
	pthread_mutex_lock(&d->neigh->lock);
	tell_neigh_counters(port, &d->neigh->counters);
	/* More than an array holds are left out. */
	for (uint32_t i = 0; i < d->neigh->num; i++)
		tell_neighbour(entries, &d->neigh->entries[i]);
	pthread_mutex_unlock(&d->neigh->lock);
	rte_tel_data_add_dict_container(port, "entries", entries, 0);
	snprintf(name, sizeof(name), "port_%u", d->port->id);
	rte_tel_data_add_dict_container(data, name, port, 0);
}

static int tell_neighbours(const char *cmd, const char *params, struct rte_tel_data *data)
{
	RTE_SET_USED(cmd);
	RTE_SET_USED(params);
	rte_tel_data_start_dict(data);
	pthread_mutex_lock(&devices_lock);
	for (const struct uroce_telemetry_device *d = devices; d; d = d->next)
		if (d->neigh && d->port)
			tell_neighbours_of(data, d);
	pthread_mutex_unlock(&devices_lock);
	return 0;
}

RTE_INIT(register_commands)
{
	rte_telemetry_register_cmd("/uroce/counters", tell_counters,
		"Counters of all workers, summed. No parameters.");
	rte_telemetry_register_cmd(
		"/uroce/drops", tell_drops, "Frames not accepted, by reason. No parameters.");
	rte_telemetry_register_cmd("/uroce/ports", tell_ports,
		"Ports and their workers: address, MTU, what the port did. No parameters.");
	rte_telemetry_register_cmd("/uroce/neighbours", tell_neighbours,
		"Who is asked for and known on each port, and what came of it. No parameters.");
	rte_telemetry_register_cmd(
		"/uroce/qp/list", tell_qp_list, "Numbers of all queue pairs. No parameters.");
	rte_telemetry_register_cmd("/uroce/qp/info", tell_qp_info,
		"State of one queue pair. Parameter: its number, decimal or 0x.");
}
