/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happened to a connection, as a sentence for people, and names.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conn.h"
#include "gid_text.h"

__attribute__((format(printf, 2, 3))) static void say(
	struct uroce_conn_event *event, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(event->words, sizeof(event->words), format, args);
	va_end(args);
}

static const char *reject_text(uint32_t reason)
{
#define CASE(name, number, text) \
	case number: \
		return text;
	switch (reason) {
		UROCE_CM_REJECTS(CASE)
	default:
		return "for a reason of its own";
	}
#undef CASE
}

static const char *sidr_text(uint32_t status)
{
#define CASE(name, number, text) \
	case number: \
		return text;
	switch (status) {
		UROCE_CM_SIDR_STATUSES(CASE)
	default:
		return "for a reason of its own";
	}
#undef CASE
}

static void describe_unreachable(struct uroce_conn_event *event, const char *peer)
{
	if (event->error == -EHOSTUNREACH)
		say(event,
			"%s: nobody has this address, or it is not on this link: %s was not "
			"answered",
			peer,
			uroce_gid_is_ipv4(uroce_gid_load(event->remote_gid)) ? "ARP"
									     : "neighbour "
									       "discovery");
	else
		say(event,
			"%s is there, but did not answer connection management: that is not "
			"running, or frames are lost",
			peer);
}

static void describe_rejected(struct uroce_conn_event *event, const char *peer)
{
	uint32_t reason = event->reason;

	if (event->error == -ECONNREFUSED)
		say(event, "%s: nobody listens on port %u", peer, event->remote_port);
	else if (event->error == -EACCES)
		say(event, "%s: the application on port %u refused", peer, event->remote_port);
	else
		say(event, "%s refused: %s (%s %" PRIu32 ")", peer,
			event->datagrams ? sidr_text(reason) : reject_text(reason),
			event->datagrams ? "status" : "reason", reason);
}

void uroce_conn_describe(struct uroce_conn_event *event)
{
	char peer[UROCE_GID_TEXT_BYTES];

	uroce_gid_text(uroce_gid_load(event->remote_gid), peer);
	switch (event->type) {
	case UROCE_CONN_ROUTE_RESOLVED:
		say(event, "%s is there", peer);
		break;
	case UROCE_CONN_REQUEST:
		say(event, "%s port %u asks for port %u", peer, event->remote_port,
			event->local_port);
		break;
	case UROCE_CONN_ERROR:
		say(event, "%s accepted, but the queue pair could not be connected: %s", peer,
			strerror(-event->error));
		break;
	case UROCE_CONN_UNREACHABLE:
		describe_unreachable(event, peer);
		break;
	case UROCE_CONN_REJECTED:
		describe_rejected(event, peer);
		break;
	case UROCE_CONN_ESTABLISHED:
		say(event, "connected to %s port %u", peer, event->remote_port);
		break;
	case UROCE_CONN_DISCONNECTED:
		say(event, "disconnected from %s port %u", peer, event->remote_port);
		break;
	case UROCE_CONN_TIMEWAIT_EXIT:
		say(event, "no frame of the connection with %s is under way any more", peer);
		break;
	}
}

const char *uroce_conn_event_name(enum uroce_conn_event_type type)
{
	switch (type) {
	case UROCE_CONN_ROUTE_RESOLVED:
		return "ROUTE_RESOLVED";
	case UROCE_CONN_REQUEST:
		return "REQUEST";
	case UROCE_CONN_ERROR:
		return "ERROR";
	case UROCE_CONN_UNREACHABLE:
		return "UNREACHABLE";
	case UROCE_CONN_REJECTED:
		return "REJECTED";
	case UROCE_CONN_ESTABLISHED:
		return "ESTABLISHED";
	case UROCE_CONN_DISCONNECTED:
		return "DISCONNECTED";
	case UROCE_CONN_TIMEWAIT_EXIT:
		return "TIMEWAIT_EXIT";
	}
	return "?";
}

#define COUNTER_NAME(name, text) #name,

const char *uroce_cm_counter_name(unsigned int i)
{
	static const char *const names[] = {UROCE_CM_COUNTERS(COUNTER_NAME)};

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}
