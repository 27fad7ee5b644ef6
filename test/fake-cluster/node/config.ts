/** Stands for `src/kube/client/config.ts`: there is one API server. */
import { fixedConfig, type ConfigSource } from '../../../src/kube/client/connection.ts';

export const loadConfig = async (): Promise<ConfigSource> => fixedConfig({ server: 'http://api.played' });
