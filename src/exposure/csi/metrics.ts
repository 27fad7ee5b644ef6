import { counter, duration, gauge } from '../../telemetry/metrics.ts';

export const calls = counter('earshot_csi_calls_total', 'CSI calls answered, by gRPC status.', ['method', 'status']);
export const callSeconds = duration('earshot_csi_call_duration_seconds', 'How long CSI calls took.', ['method']);
export const publishedVolumes = gauge('earshot_csi_published_volumes', 'Listener volumes that pods on this node have.');
export const treeWrites = counter('earshot_csi_tree_writes_total', 'Volumes looked at after a mount or a change of addresses.', ['result']);
