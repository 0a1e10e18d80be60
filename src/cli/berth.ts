#!/usr/bin/env node
import { defectText } from '../model/defect-text.js';
import { exitCodes } from './exit-codes.js';
import { runProgram } from './program.js';

// Whoever reads our output may leave before the end of it; that is their right, not our failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE')
    process.stderr.write(`error: cannot write to standard output: ${error.message}\n`);
  process.exit(error.code === 'EPIPE' ? exitCodes.done : exitCodes.error);
});

// An error that nothing expected ends the process at once, in one line.
process.on('uncaughtException', (error) => {
  process.stderr.write(`defect: ${defectText(error)}\n`);
  process.exit(exitCodes.error);
});

await runProgram(process.argv.slice(2));
