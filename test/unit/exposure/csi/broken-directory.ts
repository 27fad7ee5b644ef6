import { Directory } from '../../../../src/exposure/csi/directory.ts';

/** Error of a broken folder from then on. */
export class Broken extends Error {}

/** The folder, and all that are opened through it, until they were used so many times; then every use throws. */
export function breakAfter(folder: Directory, limit: number): Directory {
  let left = limit;
  return breakWhen(folder, () => (left -= 1) < 0);
}

/** The folder, and all that are opened through it; calls of a method throw when `isBroken` says so. */
export function breakWhen(folder: Directory, isBroken: (method: string) => boolean): Directory {
  const originals = new WeakMap<object, Directory>();
  const wrap = (original: Directory): Directory => {
    const proxy = new Proxy(original, {
      get(target, property) {
        const method: unknown = Reflect.get(target, property, target);
        if (typeof method !== 'function') return method;
        if (property === Symbol.asyncDispose) return () => method.call(target);
        return async (...parameters: unknown[]) => {
          if (isBroken(String(property))) throw new Broken(`broken before ${String(property)}`);
          const unwrapped = parameters.map((value) =>
            typeof value === 'object' && value !== null ? (originals.get(value) ?? value) : value,
          );
          const result: unknown = await method.apply(target, unwrapped);
          return result instanceof Directory ? wrap(result) : result;
        };
      },
    });
    originals.set(proxy, original);
    return proxy;
  };
  return wrap(folder);
}
