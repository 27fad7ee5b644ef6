import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Explanation, StepState } from '../../explain/step.ts';
import { exposedKinds } from '../contract.ts';
import { probe } from './client.ts';
import { milliseconds } from './format.ts';
import { Empty, Failure, Panel, Prose, Since, State, useApi, type Tone } from './parts.tsx';
import { overview } from './store.ts';

const TONES: Readonly<Record<StepState, Tone>> = { pass: 'good', warn: 'wait', wait: 'wait', fail: 'bad', unknown: 'quiet', skip: 'quiet' };
const WORDS: Readonly<Record<StepState, string>> = {
  pass: 'ok',
  warn: 'warning',
  wait: 'waits',
  fail: 'fails',
  unknown: 'unknown',
  skip: 'skipped',
};

/** Milliseconds between two examinations: each reads files and asks routers. */
const EVERY = 10_000;

/** Kinds whose path a probe follows. */
const PROBED: ReadonlySet<string> = new Set(['Listener', 'MultiKeyListener', 'key', exposedKinds.listeners]);

/** The chain from client to server; the first failure is the cause. */
export function ExplanationPanel({ kind, name }: { readonly kind: string; readonly name: string }): JSX.Element {
  const loaded = useApi<Explanation>(`explain/${encodeURIComponent(kind)}/${encodeURIComponent(name)}`, EVERY);
  const [probed, setProbed] = useState<Explanation | Error | 'running'>();
  const run = (): void => {
    setProbed('running');
    probe(kind, name).then(setProbed, (error: unknown) => setProbed(error instanceof Error ? error : new Error(String(error))));
  };
  const shown = probed === undefined || probed === 'running' || probed instanceof Error ? undefined : probed;
  const aside = (
    <span class="actions">
      <code class="aside">{`earshot${namespaceFlag()} explain ${kind.toLowerCase()} ${name}${shown === undefined ? '' : ' --probe'}`}</code>
      {PROBED.has(kind) && (
        <button type="button" class="plain" disabled={probed === 'running'} onClick={run}>
          {probed === 'running' ? 'Probing' : 'Probe'}
        </button>
      )}
    </span>
  );
  return (
    <Panel title="Step by step" aside={aside}>
      {probed instanceof Error && <Failure error={probed} />}
      {shown !== undefined && (
        <p class="foot">
          With the probe of <Since time={shown.asOf} /> ago.{' '}
          <button type="button" class="plain" onClick={() => setProbed(undefined)}>
            Back to the current state
          </button>
        </p>
      )}
      {shown === undefined && loaded.is === 'loading' && <p class="empty">Examining…</p>}
      {shown === undefined && loaded.is === 'failed' && <Failure error={loaded.error} />}
      {shown !== undefined && <Steps of={shown} />}
      {shown === undefined && loaded.is === 'ready' && <Steps of={loaded.value} />}
    </Panel>
  );
}

function namespaceFlag(): string {
  const namespace = overview.value?.namespace ?? 'default';
  return namespace === 'default' ? '' : ` -n ${namespace}`;
}

function Steps({ of: { object, steps, cause } }: { readonly of: Explanation }): JSX.Element {
  if (steps.length === 0) return <Empty title="Nothing to examine." />;
  return (
    <ol class="chain">
      {steps.map((step, index) => (
        <li key={`${step.id} ${index}`} class={cause !== undefined && step.id === cause.id && step.says === cause.says ? 'cause' : ''}>
          <State tone={TONES[step.state]}>{WORDS[step.state]}</State>
          <div class="what">
            <span class="step">{step.id.split('.').slice(1).join(' ')}</span> <Prose text={step.says} />
            {step.ms !== undefined && <small> {milliseconds(step.ms)}</small>}
            {step.do !== undefined && (step.state === 'fail' || step.state === 'warn' || step.state === 'wait') && (
              <p class="advice">
                <span class="do">Do</span> <Prose text={step.do} />
              </p>
            )}
            {step.object !== object && <small class="object-of">{step.object}</small>}
          </div>
        </li>
      ))}
    </ol>
  );
}
