/* SPDX-License-Identifier: BSD-3-Clause */
#include "pcap/report.h"
void uroce_report_html(const struct uroce_analysis *a, const char *name, FILE *file)
{
	uroce_report_json(a, name, file);
}
