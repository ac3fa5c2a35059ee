/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures written through libpcap.
 *
 * libpcap's pcap_dump() returns nothing, so the stream behind it is asked after every frame: a
 * disk that fills up is an error of the call that met it or of the close, never a file that is
 * silently too short. The first failure is kept and is what every later call returns.
 * This file knows nothing of what is in a frame.
 */
#define _GNU_SOURCE /* pcap.h needs u_char and its like */
#include "writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <pcap.h>

#define NS_PER_S UINT64_C(1000000000)

struct uroce_pcap_writer {
	pcap_t *format; /* no capture: carries link type, precision and error text */
	pcap_dumper_t *dumper;
	int failed;
};

/* The errno of a stream operation that has just failed; -EIO where it left none. */
static int stream_error(void)
{
	return errno ? -errno : -EIO;
}

static int refuse(
	struct uroce_pcap_writer *writer, int rc, const char *reason, char *err, size_t err_bytes)
{
	if (err_bytes)
		snprintf(err, err_bytes,
			"cannot write the capture: %s; check the directory, its permissions and "
			"the space on its disk",
			reason);
	if (writer && writer->format)
		pcap_close(writer->format);
	free(writer);
	return rc;
}

int uroce_pcap_writer_open(
	const char *path, struct uroce_pcap_writer **out, char *err, size_t err_bytes)
{
	struct uroce_pcap_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return refuse(NULL, -ENOMEM, "out of memory", err, err_bytes);
	writer->format = pcap_open_dead_with_tstamp_precision(
		DLT_EN10MB, (int)UROCE_PCAP_FRAME_BYTES_MAX, PCAP_TSTAMP_PRECISION_NANO);
	if (!writer->format)
		return refuse(writer, -ENOMEM, "out of memory", err, err_bytes);
	errno = 0;
	writer->dumper = pcap_dump_open(writer->format, path);
	if (!writer->dumper)
		return refuse(writer, stream_error(), pcap_geterr(writer->format), err, err_bytes);
	*out = writer;
	return 0;
}

int uroce_pcap_writer_write(
	struct uroce_pcap_writer *writer, uint64_t time_ns, const uint8_t *data, uint32_t bytes)
{
	struct pcap_pkthdr header = {.caplen = bytes, .len = bytes};

	if (writer->failed)
		return writer->failed;
	if (bytes > UROCE_PCAP_FRAME_BYTES_MAX)
		return -EMSGSIZE;
	if (time_ns / NS_PER_S > UINT32_MAX)
		return -ERANGE;
	header.ts.tv_sec = (time_t)(time_ns / NS_PER_S);
	header.ts.tv_usec = (suseconds_t)(time_ns % NS_PER_S);
	errno = 0;
	pcap_dump((u_char *)writer->dumper, &header, data);
	if (ferror(pcap_dump_file(writer->dumper)))
		writer->failed = stream_error();
	return writer->failed;
}

int uroce_pcap_writer_close(struct uroce_pcap_writer *writer)
{
	int rc;

	if (!writer)
		return 0;
	errno = 0;
	if (pcap_dump_flush(writer->dumper) && !writer->failed)
		writer->failed = stream_error();
	rc = writer->failed;
	pcap_dump_close(writer->dumper);
	pcap_close(writer->format);
	free(writer);
	return rc;
}
