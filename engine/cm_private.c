/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private data of requests: the application's, behind the header of rdma_cm where there is one.
 *
 * The header is built and taken off here, so that the application sees its own bytes and the port.
 */
#include "cma.h"

#include "cm_state.h"

uint32_t uroce_cm_private_room(enum uroce_mad_attr attr, uint64_t service_id)
{
	uint32_t header = uroce_cma_is_service(service_id) ? UROCE_CMA_BYTES : 0;

	return uroce_mad_private_max(attr) - header;
}

void uroce_cm_keep_request(struct uroce_cm_id *id, uint16_t local_port, const void *private_data,
	uint32_t private_bytes)
{
	struct uroce_cma cma = {.src = id->route.src, .dst = id->route.dst, .src_port = local_port};

	id->private_bytes = (uint8_t)private_bytes;
	if (uroce_cma_is_service(id->service_id)) {
		uroce_cma_build(id->data, &cma);
		id->private_bytes = (uint8_t)(UROCE_CMA_BYTES + private_bytes);
		id->local_port = local_port;
		id->remote_port = (uint16_t)id->service_id;
	}
	if (private_bytes > 0)
		memcpy(id->data + id->private_bytes - private_bytes, private_data, private_bytes);
}

bool uroce_cm_has_good_header(const struct uroce_mad *mad)
{
	uint64_t service_id =
		mad->attr == UROCE_MAD_REQ ? mad->req.service_id : mad->sidr_service_id;
	struct uroce_cma cma;

	return !uroce_cma_is_service(service_id) || uroce_cma_parse(mad->private_data, &cma);
}

void uroce_cm_keep_received(struct uroce_cm_id *id, const struct uroce_mad *mad)
{
	struct uroce_cma cma;
	uint32_t header = 0;

	if (uroce_cma_is_service(id->service_id) && uroce_cma_parse(mad->private_data, &cma)) {
		header = UROCE_CMA_BYTES;
		id->remote_port = cma.src_port;
		id->local_port = (uint16_t)id->service_id;
	}
	uroce_cm_id_keep(id, mad->private_data + header, mad->private_bytes - header, NULL, 0);
}
