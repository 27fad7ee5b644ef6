import type { Pod } from '../../kube/objects.ts';

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

/**
 * Why a pod is not ready: the message of its condition, and the state of its container. The text stays the same as long as the cause does.
 * The kubelet's own text counts the seconds until the next attempt, and changes during one.
 */
export function podProblem({ status }: Pod): string | undefined {
  const message = status?.conditions?.find((condition) => condition.status === 'False')?.message;
  if (message === undefined || message === '') return undefined;
  const [problem] = (status?.containerStatuses ?? []).flatMap((container) => containerProblem(container) ?? []);
  return lasting(problem === undefined ? message : `${message}: ${problem}`);
}

function containerProblem({ name, state, lastState }: ContainerStatus): string | undefined {
  const { waiting } = state ?? {};
  const ended = state?.terminated ?? lastState?.terminated;
  if (ended !== undefined && (waiting === undefined || ofRestart.has(waiting.reason ?? ''))) {
    const why = [ended.reason, ended.exitCode === undefined ? undefined : `exit code ${ended.exitCode}`].filter(isSaid).join(', ');
    return `the container ${name} has exited before${why === '' ? '' : ` (${why})`}`;
  }
  if (waiting === undefined || ofStart.has(waiting.reason ?? '')) return undefined;
  const { reason, message } = waiting;
  // Between two attempts the message quotes the result of the last one.
  const [, quoted] = (reason === 'ImagePullBackOff' ? BACK_OFF_PULLING.exec(message ?? '') : null) ?? [];
  return quoted ?? [reason, message].filter(isSaid).join(': ');
}

const isSaid = (words: string | undefined): boolean => words !== undefined && words !== '';

/** Removes what varies: the back-off time, and the port of a connection. */
function lasting(words: string): string {
  return words.replace(/\bback-off [\d.hms]+ restarting\b/g, 'back-off restarting').replace(/:\d{4,5}->/g, '->');
}

/** Every container has these reasons briefly during creation. */
const ofStart: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);
const ofRestart: ReadonlySet<string> = new Set([...ofStart, 'CrashLoopBackOff']);
const BACK_OFF_PULLING = /^Back-off pulling image "[^"]*": (.+)$/s;
