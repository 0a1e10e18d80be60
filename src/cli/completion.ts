import { Argument, Command } from 'commander';
import { oneOf } from './option-values.js';
import { print } from './terminal.js';

/** One short script per shell: what completes is the program itself, so that it never knows less than the program. */
const scripts = {
  bash: `# berth completion for bash: source <(berth completion bash)
_berth() {
  local IFS=$'\\n'
  COMPREPLY=($(berth __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _berth berth`,
  zsh: `#compdef berth
# berth completion for zsh: source <(berth completion zsh)
_berth() {
  local -a found
  found=("\${(@f)$(berth __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[*]}" ]]; then compadd -a found; else _files; fi
}
compdef _berth berth`,
  fish: `# berth completion for fish: berth completion fish | source
complete -c berth -a '(berth __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'`,
};

type Shell = keyof typeof scripts;
const shells = Object.keys(scripts) as Shell[];

export const completionCommand = (): Command =>
  new Command('completion')
    .description('print the script that completes berth commands in a shell')
    .addArgument(new Argument('<shell>', shells.join(', ')).argParser(oneOf(shells)))
    .action((shell: Shell) => print(scripts[shell]));
