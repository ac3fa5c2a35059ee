/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading captures: pcap and pcapng files, one frame at a time, with nanosecond time.
 *
 * A reader belongs to the thread that uses it; two readers never share anything but standard
 * input. Only Ethernet captures are handed on. Everything else is refused when the file is opened,
 * so that a caller never has to ask where in a frame Ethernet begins.
 */
#ifndef UROCE_PCAP_READER_H
#define UROCE_PCAP_READER_H

#include <stddef.h>
#include <stdint.h>

struct uroce_pcap_reader;

/* Room for any message of uroce_pcap_reader_open(), long paths excepted (those are cut). */
#define UROCE_PCAP_ERROR_BYTES 512

struct uroce_pcap_frame {
	uint64_t number;	 /* 1 for the first frame of the file, as in every capture tool */
	uint64_t time_ns;	 /* since 1970, as the file says; may go backwards */
	const uint8_t *data;	 /* the reader's memory, valid until the next call on the reader */
	uint32_t captured_bytes; /* how many bytes data has */
	uint32_t wire_bytes;	 /* how long the frame was; never less than captured_bytes */
};

/*
 * Opens the capture at path, "-" for standard input, and reads its header.
 *
 * err receives a sentence for the user that says what is wrong and what to do; it may be NULL
 * where err_bytes is 0. On success *out is to be given to uroce_pcap_reader_close().
 * Returns 0, or:
 *   -EPROTONOSUPPORT  a capture, but not of Ethernet; err names its link type
 *   -EINVAL           not a pcap or pcapng file
 *   -EBADMSG          ends inside its own header: damaged, and nothing can be read from it
 *   -EISDIR           a directory
 *   -ENOMEM           no memory
 *   any other negative errno: the file cannot be opened (-ENOENT, -EACCES, ...)
 */
int uroce_pcap_reader_open(
	const char *path, struct uroce_pcap_reader **out, char *err, size_t err_bytes);

/*
 * The next frame into *frame. Returns 1 for a frame, 0 at the end of the file, and -EBADMSG where
 * the file is damaged: every frame before the damage has been returned by then, the text is
 * uroce_pcap_reader_error()'s, and further calls return the same.
 */
int uroce_pcap_reader_next(struct uroce_pcap_reader *reader, struct uroce_pcap_frame *frame);

/* Why the last uroce_pcap_reader_next() failed, for the user; "" where none did. */
const char *uroce_pcap_reader_error(const struct uroce_pcap_reader *reader);

/* Frees the reader and closes its file (standard input stays open). NULL is allowed. */
void uroce_pcap_reader_close(struct uroce_pcap_reader *reader);

#endif
