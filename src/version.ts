import manifest from '../package.json' with { type: 'json' };

/** The program's version, as the driver tells it to whoever asks on its socket. */
export const VERSION: string = manifest.version;

/** On the resource definitions that a controller applies: by which version. */
export const VERSION_ANNOTATION = 'earshot/version';
