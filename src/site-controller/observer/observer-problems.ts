/** Problems of NetworkObservers that their specs and names alone show (pure). */
import { networkObservers } from '../../api/skupper/network-observer.ts';
import { errorIn, type ResourceProblem } from '../../site/problem.ts';
import { keyOf } from '../../site/resources.ts';
import { bounded, surplusProblem } from '../stored-resources.ts';
import { readObserverSpec } from './observer-spec.ts';
import { ownersOfConsoles, type ListedObserver } from './observers.ts';

/** All problems that the controller would report about NetworkObservers of one namespace. */
export function observerProblems(all: readonly ListedObserver[]): readonly ResourceProblem[] {
  const { kept, surplus } = bounded(networkObservers, all);
  const owners = ownersOfConsoles({ kept });
  return [
    ...surplus.map((observer) => surplusProblem(networkObservers, observer)),
    ...kept.flatMap((observer) => {
      const owner = owners.get(readObserverSpec(observer).name) ?? observer;
      return owner === observer ? [...refusedFields(observer), ...ignoredFields(observer)] : [nameTaken(observer, owner)];
    }),
  ];
}

export function nameTaken(observer: ListedObserver, owner: ListedObserver): ResourceProblem {
  const message = `${keyOf(owner)} has the console ${readObserverSpec(observer).name}; rename one of the two.`;
  return { resource: keyOf(observer), severity: 'error', code: 'name-taken', message };
}

export function refusedFields(observer: ListedObserver): readonly ResourceProblem[] {
  return readObserverSpec(observer).refused.map((field) =>
    errorIn(keyOf(observer), `spec.${field}`, 'bad-argument', 'a console must not read a Secret of the controller; name another one.'),
  );
}

/** @returns undefined if each field has an effect */
export function ignoredText(ignored: readonly string[]): string | undefined {
  return ignored.length === 0 ? undefined : `These fields of the spec have no effect: ${ignored.join(', ')}.`;
}

function ignoredFields(observer: ListedObserver): readonly ResourceProblem[] {
  const message = ignoredText(readObserverSpec(observer).ignored);
  return message === undefined ? [] : [{ resource: keyOf(observer), severity: 'warning', code: 'not-on-platform', message }];
}
