import type { Command } from 'commander';
import type { logFormats } from '../main/open-log.js';
import type { LogLevel } from '../main/log.js';
import { choiceOption } from './option-values.js';

/** How a program that goes on writes its log. */
export interface LogFlags {
  readonly logFormat: (typeof logFormats)[number];
  readonly logLevel: LogLevel;
}

const formats: readonly LogFlags['logFormat'][] = ['plain', 'json'];
const levels: readonly LogLevel[] = ['error', 'warn', 'info', 'debug'];

export const withLogOptions = (command: Command): Command =>
  command
    .addOption(
      choiceOption('--log-format <format>', 'form of the log on standard error', formats).default('plain'),
    )
    .addOption(choiceOption('--log-level <level>', 'least level of what is logged', levels).default('info'));
