/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures through libpcap, which knows both formats, both byte orders and all the versions.
 *
 * This file adds what libpcap leaves to its callers: an errno for each way to fail, a sentence that
 * says what to do about it, the refusal of what is not Ethernet, frame numbers, and that
 * captured_bytes never exceeds wire_bytes, which a damaged file can get wrong and a decoder would
 * trip over. It knows nothing of what is in a frame.
 *
 * The file is opened here and not by libpcap, since libpcap reports a missing file and a file of
 * another kind with the same value.
 */
#define _GNU_SOURCE
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <pcap.h>

struct uroce_pcap_reader {
	pcap_t *pcap;
	char *name; /* for messages */
	uint64_t frames;
	int failed; /* 0, or what every further call returns */
	char error[UROCE_PCAP_ERROR_BYTES];
};

__attribute__((format(printf, 3, 4))) static void say(
	char *err, size_t err_bytes, const char *format, ...)
{
	va_list args;

	if (err_bytes == 0)
		return;
	va_start(args, format);
	vsnprintf(err, err_bytes, format, args);
	va_end(args);
}

static const char *open_advice(int error)
{
	if (error == ENOENT)
		return "check the path, or give \"-\" to read standard input";
	if (error == EACCES)
		return "check its permissions";
	return "check that it can be read";
}

static int open_file(const char *path, FILE **out, char *err, size_t err_bytes)
{
	struct stat status;
	FILE *file;

	if (strcmp(path, "-") == 0) {
		*out = stdin;
		return 0;
	}
	file = fopen(path, "rbe");
	if (!file) {
		int error = errno;

		say(err, err_bytes, "%s: %s; %s", path, strerror(error), open_advice(error));
		return -error;
	}
	if (fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode)) {
		fclose(file);
		say(err, err_bytes, "%s: is a directory; name one capture file in it", path);
		return -EISDIR;
	}
	*out = file;
	return 0;
}

static void close_file(FILE *file)
{
	if (file != stdin)
		fclose(file);
}

/* libpcap says in words alone whether a header is cut short or is another format's. */
static int refuse_format(const char *name, const char *reason, char *err, size_t err_bytes)
{
	if (strstr(reason, "truncated")) {
		say(err, err_bytes,
			"%s: ends inside the file header, nothing can be read (%s); "
			"get a whole copy of it",
			name, reason);
		return -EBADMSG;
	}
	say(err, err_bytes,
		"%s: not a pcap or pcapng file (%s); convert it with a tool that "
		"knows its format",
		name, reason);
	return -EINVAL;
}

static int refuse_link_type(int link_type, const char *name, char *err, size_t err_bytes)
{
	const char *short_name = pcap_datalink_val_to_name(link_type);
	const char *long_name = pcap_datalink_val_to_description(link_type);
	const char *advice = "capture on the Ethernet interface itself";
	int number = link_type;

	if (link_type == DLT_LINUX_SLL || link_type == DLT_LINUX_SLL2)
		advice = "capture on one interface (tcpdump -i eth0), not on \"any\"";
	/* The one type whose number in files (LINKTYPE) is not libpcap's own (DLT). */
	if (link_type == DLT_RAW)
		number = 101;
	say(err, err_bytes, "%s: link type %d, %s (%s), is not Ethernet and cannot be read; %s",
		name, number, short_name ? short_name : "unknown",
		long_name ? long_name : "no description", advice);
	return -EPROTONOSUPPORT;
}

int uroce_pcap_reader_open(
	const char *path, struct uroce_pcap_reader **out, char *err, size_t err_bytes)
{
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	char reason[PCAP_ERRBUF_SIZE] = "";
	struct uroce_pcap_reader *reader;
	pcap_t *pcap;
	FILE *file = NULL;
	int rc;

	rc = open_file(path, &file, err, err_bytes);
	if (rc)
		return rc;
	pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, reason);
	if (!pcap) {
		close_file(file);
		return refuse_format(name, reason, err, err_bytes);
	}
	if (pcap_datalink(pcap) != DLT_EN10MB) {
		rc = refuse_link_type(pcap_datalink(pcap), name, err, err_bytes);
		pcap_close(pcap);
		return rc;
	}
	reader = calloc(1, sizeof(*reader));
	if (reader)
		reader->name = strdup(name);
	if (!reader || !reader->name) {
		free(reader);
		pcap_close(pcap);
		say(err, err_bytes, "%s: out of memory; free some and try again", name);
		return -ENOMEM;
	}
	reader->pcap = pcap;
	*out = reader;
	return 0;
}

/*
 * With nanosecond precision libpcap puts nanoseconds into tv_usec. It takes the classic format's
 * unsigned seconds for signed ones, which would end in 2038.
 */
static uint64_t frame_time_ns(const struct timeval *time)
{
	uint64_t seconds = time->tv_sec < 0 ? (uint32_t)time->tv_sec : (uint64_t)time->tv_sec;

	return seconds * UINT64_C(1000000000) + (uint32_t)time->tv_usec;
}

int uroce_pcap_reader_next(struct uroce_pcap_reader *reader, struct uroce_pcap_frame *frame)
{
	struct pcap_pkthdr *header;
	const uint8_t *data;
	int rc;

	if (reader->failed)
		return reader->failed;
	rc = pcap_next_ex(reader->pcap, &header, &data);
	if (rc == PCAP_ERROR_BREAK)
		return 0;
	if (rc != 1) {
		say(reader->error, sizeof(reader->error),
			"%s: damaged after frame %" PRIu64 " (%s); "
			"what comes before is good, get a whole copy for the rest",
			reader->name, reader->frames, pcap_geterr(reader->pcap));
		reader->failed = -EBADMSG;
		return reader->failed;
	}
	reader->frames++;
	frame->number = reader->frames;
	frame->time_ns = frame_time_ns(&header->ts);
	frame->data = data;
	frame->captured_bytes = header->caplen;
	frame->wire_bytes = header->len < header->caplen ? header->caplen : header->len;
	return 1;
}

const char *uroce_pcap_reader_error(const struct uroce_pcap_reader *reader)
{
	return reader->error;
}

void uroce_pcap_reader_close(struct uroce_pcap_reader *reader)
{
	if (!reader)
		return;
	pcap_close(reader->pcap); /* and with it the file, unless that is stdin */
	free(reader->name);
	free(reader);
}
