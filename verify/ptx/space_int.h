#ifndef VERIFY_PTX_SPACE_INT_H
#define VERIFY_PTX_SPACE_INT_H

/* What parser, decoder and execution call alike. */
enum space { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_CONST, SPACE_PARAM };

/* Special registers, %tid.x and the like: SREG(id, "text"). */
#define SREGS(X)                                                                                   \
    X(tid_x, "%tid.x")                                                                             \
    X(tid_y, "%tid.y")                                                                             \
    X(tid_z, "%tid.z")                                                                             \
    X(ntid_x, "%ntid.x")                                                                           \
    X(ntid_y, "%ntid.y")                                                                           \
    X(ntid_z, "%ntid.z")                                                                           \
    X(ctaid_x, "%ctaid.x")                                                                         \
    X(ctaid_y, "%ctaid.y")                                                                         \
    X(ctaid_z, "%ctaid.z")                                                                         \
    X(nctaid_x, "%nctaid.x")                                                                       \
    X(nctaid_y, "%nctaid.y")                                                                       \
    X(nctaid_z, "%nctaid.z")                                                                       \
    X(laneid, "%laneid")                                                                           \
    X(warpid, "%warpid")                                                                           \
    X(nwarpid, "%nwarpid")                                                                         \
    X(smid, "%smid")                                                                               \
    X(nsmid, "%nsmid")                                                                             \
    X(gridid, "%gridid")                                                                           \
    X(lanemask_eq, "%lanemask_eq")                                                                 \
    X(lanemask_le, "%lanemask_le")                                                                 \
    X(lanemask_lt, "%lanemask_lt")                                                                 \
    X(lanemask_ge, "%lanemask_ge")                                                                 \
    X(lanemask_gt, "%lanemask_gt")                                                                 \
    X(clock, "%clock")                                                                             \
    X(clock_hi, "%clock_hi")                                                                       \
    X(clock64, "%clock64")                                                                         \
    X(globaltimer, "%globaltimer")                                                                 \
    X(globaltimer_lo, "%globaltimer_lo")                                                           \
    X(globaltimer_hi, "%globaltimer_hi")                                                           \
    X(dynamic_smem_size, "%dynamic_smem_size")                                                     \
    X(total_smem_size, "%total_smem_size")                                                         \
    X(aggr_smem_size, "%aggr_smem_size")                                                           \
    X(envreg1, "%envreg1")                                                                         \
    X(envreg2, "%envreg2")                                                                         \
    X(cluster_ctaid_x, "%cluster_ctaid.x")                                                         \
    X(cluster_ctaid_y, "%cluster_ctaid.y")                                                         \
    X(cluster_ctaid_z, "%cluster_ctaid.z")                                                         \
    X(cluster_nctaid_x, "%cluster_nctaid.x")                                                       \
    X(cluster_nctaid_y, "%cluster_nctaid.y")                                                       \
    X(cluster_nctaid_z, "%cluster_nctaid.z")                                                       \
    X(clusterid_x, "%clusterid.x")                                                                 \
    X(clusterid_y, "%clusterid.y")                                                                 \
    X(clusterid_z, "%clusterid.z")                                                                 \
    X(nclusterid_x, "%nclusterid.x")                                                               \
    X(nclusterid_y, "%nclusterid.y")                                                               \
    X(nclusterid_z, "%nclusterid.z")                                                               \
    X(cluster_ctarank, "%cluster_ctarank")                                                         \
    X(cluster_nctarank, "%cluster_nctarank")                                                       \
    X(is_explicit_cluster, "%is_explicit_cluster")

enum sreg {
#define X(id, text) SREG_##id,
    SREGS(X)
#undef X
        SREG_COUNT
};

#endif
