/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A finished analysis in words, for people and for programs.
 */
#ifndef UROCE_PCAP_REPORT_H
#define UROCE_PCAP_REPORT_H

#include <stdio.h>

#include "pcap/analysis.h"

/* Tables and sentences. name: of the capture. most: findings to print, 0 for all. */
void uroce_report_text(const struct uroce_analysis *a, const char *name, uint32_t most, FILE *file);
/* One JSON object on several lines; its form is described in the README. */
void uroce_report_json(const struct uroce_analysis *a, const char *name, FILE *file);
/* Not a page yet: what uroce_report_json writes. */
void uroce_report_html(const struct uroce_analysis *a, const char *name, FILE *file);

/* The address of one of a stream's ends as text. */
#define UROCE_REPORT_ADDRESS_BYTES 48
const char *uroce_report_address(struct uroce_gid gid, char text[UROCE_REPORT_ADDRESS_BYTES]);
/* "RC", "UC", "UD", "-" */
const char *uroce_report_service(const struct uroce_connection *c);
/* "stated", "evidence", "guess", "alone" */
const char *uroce_report_confidence(enum uroce_confidence confidence);
/* A string of JSON with its quotes. */
void uroce_report_quote(const char *text, FILE *file);
/* How many findings of a grade there are. */
uint32_t uroce_report_count(const struct uroce_analysis *a, enum uroce_grade grade);

#endif
