import type { Logger } from '../../telemetry/log.ts';
import { socketsWithin } from '../../telemetry/open-files.ts';

export function warnAboutFewFiles(log: Logger, openFiles: number | undefined): void {
  if (openFiles === undefined || openFiles >= FEW_FILES) return;
  const enough = `enough for ${socketsWithin(openFiles)} sockets of clients and servers`;
  log.warn({ openFiles }, `the limit of open files is ${openFiles}, ${enough}; raise it if more are expected (ulimit -n)`);
}

/** Limit of open files below which a warning is logged: each connection needs one or two files. */
const FEW_FILES = 10_240;
