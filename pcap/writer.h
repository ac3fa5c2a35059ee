/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing captures: classic pcap, link type Ethernet, nanosecond time, which every capture tool of
 * the last ten years reads. A writer belongs to the thread that uses it.
 *
 * Frames pass through a buffer, so a full disk may show only later: a capture is complete when
 * uroce_pcap_writer_close() has returned 0, and not before.
 */
#ifndef UROCE_PCAP_WRITER_H
#define UROCE_PCAP_WRITER_H

#include <stddef.h>
#include <stdint.h>

struct uroce_pcap_writer;

/* The longest frame that readers accept. */
#define UROCE_PCAP_FRAME_BYTES_MAX 262144u

/*
 * Creates (or truncates) the capture at path, "-" for standard output, and writes its header.
 * err receives a sentence for the user; it may be NULL where err_bytes is 0. On success *out is
 * to be given to uroce_pcap_writer_close().
 * Returns 0, -ENOMEM, or the negative errno of opening or writing the file.
 */
int uroce_pcap_writer_open(
	const char *path, struct uroce_pcap_writer **out, char *err, size_t err_bytes);

/*
 * Appends one frame, bytes long on the wire and in the file, without FCS. data is not kept.
 * Returns 0, or:
 *   -EMSGSIZE  longer than UROCE_PCAP_FRAME_BYTES_MAX; nothing was written, the writer goes on
 *   -ERANGE    time_ns is past 2106, which the format cannot say; likewise
 *   -ENOSPC, -EIO, ...  writing failed; the file ends in an incomplete frame, and every further
 *              call returns the same. Close it.
 */
int uroce_pcap_writer_write(
	struct uroce_pcap_writer *writer, uint64_t time_ns, const uint8_t *data, uint32_t bytes);

/*
 * Writes what is still buffered, closes the file, frees the writer; NULL is allowed.
 * Returns 0 when every frame has been handed to the system, else the first error: do not use the
 * file then.
 */
int uroce_pcap_writer_close(struct uroce_pcap_writer *writer);

#endif
