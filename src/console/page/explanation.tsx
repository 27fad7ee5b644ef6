import type { JSX } from 'preact';
import type { Explanation, Step, StepState } from '../../explain/step.ts';
import { milliseconds } from './format.ts';
import { Empty, Failure, Panel, Prose, State, useApi, type Tone } from './parts.tsx';
import { overview } from './store.ts';

const TONES: Readonly<Record<StepState, Tone>> = { pass: 'good', warn: 'wait', wait: 'wait', fail: 'bad', unknown: 'quiet', skip: 'quiet' };
const WORDS: Readonly<Record<StepState, string>> = {
  pass: 'ok',
  warn: 'look',
  wait: 'waits',
  fail: 'fails',
  unknown: 'unknown',
  skip: 'skipped',
};

/** Milliseconds between two examinations: each reads files and asks routers. */
const EVERY = 10_000;

/** The chain from client to server; the first failure is the cause. */
export function ExplanationPanel({ kind, name }: { readonly kind: string; readonly name: string }): JSX.Element {
  const loaded = useApi<Explanation>(`explain/${encodeURIComponent(kind)}/${encodeURIComponent(name)}`, EVERY);
  return (
    <Panel title="Step by step" aside={<code class="aside">{`earshot${namespaceFlag()} explain ${kind.toLowerCase()} ${name}`}</code>}>
      {loaded.is === 'loading' && <p class="empty">Examining…</p>}
      {loaded.is === 'failed' && <Failure error={loaded.error} />}
      {loaded.is === 'ready' && <Steps steps={loaded.value.steps} cause={loaded.value.cause} />}
    </Panel>
  );
}

function namespaceFlag(): string {
  const namespace = overview.value?.namespace ?? 'default';
  return namespace === 'default' ? '' : ` -n ${namespace}`;
}

function Steps({ steps, cause }: { readonly steps: readonly Step[]; readonly cause: Step | undefined }): JSX.Element {
  if (steps.length === 0) return <Empty title="Nothing to examine." />;
  return (
    <ol class="chain">
      {steps.map((step, index) => (
        <li key={`${step.id} ${index}`} class={cause !== undefined && step.id === cause.id && step.says === cause.says ? 'cause' : ''}>
          <State tone={TONES[step.state]}>{WORDS[step.state]}</State>
          <div class="what">
            <Prose text={step.says} />
            {step.ms !== undefined && <small> {milliseconds(step.ms)}</small>}
            {step.do !== undefined && (step.state === 'fail' || step.state === 'warn' || step.state === 'wait') && (
              <p class="advice">
                <span class="do">Do</span> <Prose text={step.do} />
              </p>
            )}
            <small class="object-of">{step.object}</small>
          </div>
        </li>
      ))}
    </ol>
  );
}
